/** Chapter: arrays of messages, which one version of the protocol has and the others do not. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, textsOf } from "./checks.ts";

export function arraysChapter(open: OpenBench): void {
  laterVersions(open);
  beforeInitialize(open);
  served(open);
  halfServed(open);
}

const ping = (id: unknown) => ({ jsonrpc: "2.0", id, method: "ping" });
const call = (id: unknown, name = "t") => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call" },
  params: { name },
});
const notification = { jsonrpc: "2.0", method: "notifications/x" };
const answer = { jsonrpc: "2.0", id: 1, result: {} };
const invalid = { status: 400, code: -32600, type: "invalid-request", data: { notRun: true } };

const cases: readonly (readonly unknown[])[] = [
  [],
  [ping(1)],
  [ping(1), call(2)],
  [initializeMessage()],
  [ping(1), initializeMessage()],
  [notification, notification],
  [answer],
  [[ping(1)]],
  [[]],
  [ping(1), 7],
  [null],
  [ping(1), { id: 2 }],
];

function laterVersions(open: OpenBench): void {
  for (const version of ["2025-06-18", "2025-11-25"]) {
    test(`${verifies("E-01", "c066")}a session of ${version} refuses every array, and runs nothing of it`, async () => {
      const bench = await open();
      const session = await bench.session({ version });
      const before = session.upstream.arrivals.length;
      for (const array of cases) {
        await expectRefusal(await session.post(array), { ...invalid, id: null });
      }
      expect(session.upstream.arrivals).toHaveLength(before);
      await expectAlive(session);
      expect(bench.upstreams.all).toHaveLength(1);
    });
  }
}

function beforeInitialize(open: OpenBench): void {
  test(`${verifies("E-01", "c066")}no array comes before initialize`, async () => {
    const bench = await open();
    const headers = { accept: acceptBoth, "content-type": "application/json" };
    for (const array of cases) {
      const body = JSON.stringify(array);
      const stream = await openEventStream({ url: bench.url, method: "POST", headers, body });
      expect(stream.status).toBe(400);
      expect(await stream.json()).toMatchObject({ error: { data: { notRun: true } } });
    }
    expect(bench.upstreams.all).toEqual([]);

    // The session has an id, and no version yet.
    bench.upstreams.respond = () => undefined;
    const opening = await openEventStream({
      ...{ url: bench.url, method: "POST", headers },
      body: JSON.stringify(initializeMessage({ version: "2025-03-26" })),
    });
    const sessionId = opening.headers["mcp-session-id"];
    const early = await openEventStream({
      ...{ url: bench.url, method: "POST", body: JSON.stringify([ping(1)]) },
      headers: { ...headers, "mcp-session-id": sessionId },
    });
    await expectRefusal(early, invalid);
  });
}

function served(open: OpenBench): void {
  test(`${verifies("E-01", "c066")}one stream answers an array, and ends after its last response`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    const stream = await session.post([call(1), notification, call("1"), call(1), ping(4)]);
    expect(stream.status).toBe(200);
    await session.upstream.notification("notifications/x");
    const calls = [];
    for (let i = 0; i < 3; i++) calls.push(await session.upstream.request("tools/call"));
    expect(await stream.response(4)).toEqual({ jsonrpc: "2.0", id: 4, result: {} });
    session.upstream.say({ method: "notifications/message", params: { level: "info", data: 1 } });
    await stream.nextMessage(({ method }) => method === "notifications/message");
    for (const index of [2, 0]) {
      calls[index]?.answer({ index });
      expect(await stream.response()).toMatchObject({ id: 1, result: { index } });
    }
    // Cut before the last: resume returns what is missing, and then the stream is over.
    const cursor = stream.lastEventId ?? "";
    stream.destroy("rst");
    await expectAlive(session);
    calls[1]?.answer({ index: 1 });
    const resumed = await session.get({ lastEventId: cursor });
    await resumed.body();
    expect(textsOf(resumed)).toEqual(['{"jsonrpc":"2.0","id":"1","result":{"index":1}}']);
    await expectEmpty(await session.get({ lastEventId: resumed.lastEventId ?? "" }), 204);
  });

  test(`${verifies("E-01", "X-01", "c066")}the stream of an array waits for no cancelled call`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    const stream = await session.post([call("a"), call("b"), call("c")]);
    const calls = [];
    for (let i = 0; i < 3; i++) calls.push(await session.upstream.request("tools/call"));
    await session.notify("notifications/cancelled", { requestId: "a" });
    calls[1]?.answer({});
    await stream.response("b");
    await session.notify("notifications/cancelled", { requestId: "c" });
    await stream.body();
    expect(stream.messages).toHaveLength(1);
    await expectEmpty(await session.get({ lastEventId: stream.lastEventId ?? "" }), 204);
  });

  test(`${verifies("E-01", "E-12", "c066")}each message of an array passes byte for byte`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    const first = '{ "params":{"n":1.0}, "jsonrpc":"2.0","method":"notifications/x" }';
    const second = '{"method":"tools/call", "id": "\\u0041,]" ,"jsonrpc":"2.0"}';
    const stream = await session.post(` [\r\n ${first}\t,${second} ] `);
    expect((await session.upstream.notification("notifications/x")).text).toBe(first);
    const arrived = await session.upstream.request("tools/call");
    expect(arrived.text).toBe(second.replace('"\\u0041,]"', String(arrived.id)));
    arrived.answer(null);
    expect(await stream.response("A,]")).toMatchObject({ result: null });
  });
}

function halfServed(open: OpenBench): void {
  test(`${verifies("E-01", "c066")}an array without requests is accepted, one with anything wrong is not`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    await expectEmpty(await session.post([notification, notification]), 202);
    await expectEmpty(await session.post([answer, notification]), 202);
    for (let i = 0; i < 3; i++) await session.upstream.notification("notifications/x");
    const before = session.upstream.arrivals.length;
    const refused = cases.filter((array) => {
      const text = JSON.stringify(array);
      return text === "[]" || /initialize|\[\[|,7|null|\{"id":2\}/.test(text);
    });
    expect(refused).toHaveLength(8);
    for (const array of refused) {
      await expectRefusal(await session.post(array), { ...invalid, id: null });
    }
    expect(session.upstream.arrivals).toHaveLength(before);
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
  });
}
