/** What passes between a gateway and the HTTP server behind it, byte for byte and header for header. */
import { answerOf, disposeAll, openSession, signal, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory, startGateway } from "./gateway-process.ts";
import { type HttpArrival, playedHttpServer } from "./http-upstream-servers.ts";
import { serveWorker, textOf } from "./worker.ts";

afterEach(disposeAll);

/** A server whose requests, those of a set-up left out, the test answers. */
async function played() {
  const asked = signal<HttpArrival>("request at the server");
  const server = await playedHttpServer((arrival) => asked.emit(arrival));
  return { ...server, asked };
}

/** Nothing of it survives being parsed and written again. */
const odd = '"big":12345678901234567890,  "e":"\\u00e9\\/","n":1.0e2';

test(`${verifies("E-12", "X-02")}text passes both ways as it is, but for ids and tokens`, async () => {
  const { url, asked } = await played();
  const gateway = await startGateway(["serve", "--upstream", url]);
  const session = await openSession(gateway.url);
  const text = `{"jsonrpc":"2.0" ,"id":"a","method":"tools/call","params":{"name":"t","arguments":{${odd}},"_meta":{"progressToken":"p"}}}`;
  const arrived = asked.next();
  const stream = await session.post(text);
  const call = await arrived;
  const { id } = call.message;
  expect(call.text).toBe(
    text.replace('"id":"a"', `"id":${id}`).replace('"progressToken":"p"', `"progressToken":${id}`),
  );
  const say = call.stream();
  say(
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},${odd}}}`,
    "1",
  );
  say(`{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{${odd}}}`, "2");
  const question = await stream.nextMessage(({ method }) => method === "roots/list");
  const replied = asked.next();
  await session.post(`{"jsonrpc":"2.0","id":"${question.id}","result":{"roots":[],${odd}}}`);
  const reply = await replied;
  expect(reply.text).toBe(`{"jsonrpc":"2.0","id":"q","result":{"roots":[],${odd}}}`);
  reply.res.writeHead(202).end();
  say(`{"result":{"content":[],${odd}},"id":${id},"jsonrpc":"2.0"}`, "3");
  await stream.response();
  const data = stream.events.map((event) => event.data).filter((one) => one !== "");
  expect(data).toEqual([
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p",${odd}}}`,
    `{"jsonrpc":"2.0","id":"${question.id}","method":"roots/list","params":{${odd}}}`,
    `{"result":{"content":[],${odd}},"id":"a","jsonrpc":"2.0"}`,
  ]);
});

test(`${verifies("S-06")}headers: those that are named pass, each with its own request; fixed ones win`, async () => {
  const { url, arrivals, asked } = await played();
  const options = ["--forward-header", "Authorization", "--forward-header", "x-trace"];
  const fixed = ["--upstream-header", "X-Fixed: yes"];
  const gateway = await startGateway(["serve", ...options, ...fixed, "--upstream", url]);
  const session = await openSession(gateway.url, { headers: { authorization: "Bearer one" } });
  const calls = ["t1", "t2"].map(async (trace) => {
    const headers = { "x-trace": trace, "x-fixed": "no", "x-other": "secret" };
    await answerOf(await session.call(trace, {}, { headers }));
  });
  for (const _ of calls) (await asked.next()).answer({ content: [] });
  await Promise.all(calls);
  const seen = arrivals.filter(({ message }) => message.method === "tools/call");
  expect(seen).toHaveLength(2);
  for (const { headers, message } of seen) {
    const { name } = message.params as { name: string };
    expect(headers).toMatchObject({ "x-trace": name, "x-fixed": "yes" });
  }
  for (const { headers } of arrivals) {
    expect(headers).not.toHaveProperty("x-other");
    expect(headers).toMatchObject({ authorization: "Bearer one", "x-fixed": "yes" });
  }
});

test(`${verifies("K-09")}what the server refuses is that call's error, and did not run`, async () => {
  const { url, asked } = await played();
  const gateway = await startGateway(["serve", "--upstream", url]);
  const session = await openSession(gateway.url);
  const arrived = asked.next();
  const stream = await session.call("t");
  (await arrived).res.writeHead(422).end("no");
  expect((await stream.response()).error).toMatchObject({
    code: -32000,
    data: { type: "upstream-refused", notRun: true, status: 422 },
  });
});

test(`${verifies("K-01", "X-05")}401 there: the call ends as unknown or refused, the session stays`, async () => {
  const { url, asked } = await played();
  const gateway = await startGateway(["serve", "--upstream", url]);
  const session = await openSession(gateway.url);
  const arrived = asked.next();
  const stream = await session.call("t");
  (await arrived).res.writeHead(401).end();
  const { error } = await stream.response();
  expect(error).toMatchObject({ code: -32000, data: { type: "upstream-refused", status: 401 } });
  const next = asked.next();
  const again = await session.call("t");
  (await next).answer({ content: [] });
  expect((await again.response()).result).toEqual({ content: [] });
});

test(`${verifies("S-03")}a server that refuses: initialize ends with an error, the session too`, async () => {
  const { url, asked } = await playedRefusing();
  const gateway = await startGateway(["serve", "--upstream", url]);
  await expect(openSession(gateway.url)).rejects.toThrow(/did not take the request/);
  expect(asked).toHaveLength(1);
});

/** It refuses every initialize. */
async function playedRefusing() {
  const asked: HttpArrival[] = [];
  const server = await playedHttpServer(
    () => {},
    (arrival) => {
      asked.push(arrival);
      arrival.res.writeHead(400).end("go away");
    },
  );
  return { url: server.url, asked };
}

test(`${verifies("S-08")}the end of a session ends the one there, after a restart, too`, async () => {
  const { url, asked } = await played();
  const gateway = await startGateway(["serve", "--upstream", url]);
  const [first, second] = [await openSession(gateway.url), await openSession(gateway.url)];
  const ended = asked.next();
  await first.delete();
  expect((await ended).headers["mcp-session-id"]).toMatch(/^s-/);
  await gateway.kill();
  const { port } = new URL(gateway.url);
  await startGateway(["serve", "--port", port, "--upstream", url], gateway.cwd);
  const alsoEnded = asked.next();
  await second.delete();
  const { method, headers } = await alsoEnded;
  expect(method).toBe("DELETE");
  expect(headers["mcp-session-id"]).not.toBe((await ended).headers["mcp-session-id"]);
});

test(`${verifies("X-03", "S-07")}a key finds its call after a restart, and waits for it`, async () => {
  const { url, asked } = await played();
  const gateway = await startGateway(["serve", "--upstream", url]);
  const session = await openSession(gateway.url);
  const headers = { "idempotency-key": "0123456789abcdef" };
  const arrived = asked.next();
  const stream = await session.call("pay", {}, { headers });
  const call = await arrived;
  call.stream()(
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}',
    "e1",
  );
  await stream.nextMessage();
  await gateway.kill();
  const { port } = new URL(gateway.url);
  await startGateway(["serve", "--port", port, "--upstream", url], gateway.cwd);
  const resumed = asked.next();
  const again = await session.call("pay", {}, { headers });
  const get = await resumed;
  expect([get.method, get.headers["last-event-id"]]).toEqual(["GET", "e1"]);
  get.stream()(`{"jsonrpc":"2.0","id":${call.message.id},"result":{"content":[],"paid":1}}`, "e2");
  expect((await again.response()).result).toMatchObject({ paid: 1 });
});

test(`${verifies("S-07", "R-01", "E-08")}two gateways in a row, both killed in mid-call: what is kept there arrives here`, async () => {
  const back = await serveWorker(["--retry", "10ms"]);
  const directory = scratchDirectory();
  const argv = ["serve", "--retry", "10ms", "--upstream", back.url];
  const gateway = await startGateway(argv, directory);
  const session = await openSession(gateway.url);
  const stream = await session.call(
    "steady",
    { name: "far", steps: 20, everyMs: 50 },
    { progressToken: 1 },
  );
  await stream.nextMessage(({ method }) => method === "notifications/progress");
  await gateway.kill();
  await startGateway([...argv, "--port", new URL(gateway.url).port], directory);
  const resumed = await session.get({ lastEventId: stream.lastEventId ?? "" });
  expect(textOf(await resumed.response())).toBe("far done");
  const steps = [...stream.messages, ...resumed.messages].flatMap(
    ({ params }) => params?.progress ?? [],
  );
  expect(steps).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(back.effects("far")).toBe(1);
});
