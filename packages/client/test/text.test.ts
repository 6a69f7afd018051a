/** Messages as text, for who hands them on [C E-12], and calls that go on under their ids [C K-10]. */
import type { Arrival } from "@holdfast/client";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { ScriptedRequest } from "./scripted-fetch.ts";
import { rest } from "./virtual-time.ts";
import { initializeParams, openWorld, resultFor, type World } from "./world.ts";

/** Nothing of it survives being parsed and written again. */
const odd = '"big":12345678901234567890,  "e":"\\u00e9\\/","n":1.0e2';

function listener() {
  const arrivals: Arrival[] = [];
  return {
    arrivals,
    onText: (arrival: Arrival): undefined => void arrivals.push(arrival),
    texts: () => arrivals.map(({ text }) => text),
  };
}

function sendText(world: World, text: string): void {
  void world.transport.send(JSON.parse(text) as object, { text }).catch(() => {});
}

const callText = `{ "jsonrpc":"2.0","method":"tools/call", "id" : 7,"params":{"name":"pay","arguments":{${odd}},"_meta":{"progressToken":7,"x":1.50}}}`;

async function posted(world: World): Promise<{ post: ScriptedRequest; wire: number }> {
  const post = await world.next();
  return { post, wire: Number(post.body.id) };
}

describe("a transport that hands on text", () => {
  test(`${verifies("E-12")}requests, progress, questions and results keep every character but ids`, async () => {
    const heard = listener();
    const world = await openWorld({ onText: heard.onText });
    await world.connect();
    sendText(world, callText);
    const { post, wire } = await posted(world);
    expect(post.text).toBe(
      callText
        .replace('"id" : 7', `"id" : ${wire}`)
        .replace('"progressToken":7', `"progressToken":${wire}`),
    );
    const stream = post.stream();
    const progress = `{"method":"notifications/progress","params":{"progressToken":${wire}, "progress":1.00},"jsonrpc":"2.0"}`;
    const question = `{"jsonrpc":"2.0","id":"q 1","method":"roots/list","params":{${odd}}}`;
    const result = `{"result":{${odd}} ,"id":${wire},"jsonrpc":"2.0"}`;
    stream.write(`id: a1\ndata: ${progress}\n\n`);
    stream.write(`id: a2\ndata: ${question}\n\n`);
    stream.write(`id: a3\ndata: ${result}\n\n`);
    await rest();
    expect(heard.texts().slice(1)).toEqual([
      progress.replace(`"progressToken":${wire}`, '"progressToken":7'),
      question,
      result.replace(`"id":${wire}`, '"id":7'),
    ]);
    const answer = '{"jsonrpc":"2.0","id":"q 1","result":{"roots":[], "n":1.0}}';
    sendText(world, answer);
    expect((await world.next()).text).toBe(answer);
  });

  test(`${verifies("E-12", "K-14")}a JSON answer and an array keep theirs; each names its request`, async () => {
    const heard = listener();
    const world = await openWorld({ onText: heard.onText });
    await world.connect();
    sendText(world, callText);
    const { post, wire } = await posted(world);
    const log = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}`;
    post.respond(200, `[ ${log} , {"id":${wire},"jsonrpc":"2.0","result":{${odd}}} ]`, {
      "content-type": "application/json",
    });
    await rest();
    expect(heard.arrivals.slice(1)).toMatchObject([
      { text: log, related: 7 },
      { text: `{"id":7,"jsonrpc":"2.0","result":{${odd}}}` },
    ]);
  });

  test(`${verifies("K-03")}each message says how it changes the state`, async () => {
    const heard = listener();
    const world = await openWorld({ onText: heard.onText });
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    sendText(world, callText);
    const { post, wire } = await posted(world);
    const stream = post.stream();
    const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info" } };
    standalone.event(log, "g1");
    stream.event(log, "a1");
    stream.event(resultFor(post), "a2");
    await rest();
    expect(heard.arrivals.slice(1).map(({ changes }) => changes)).toEqual([
      [{ change: "setSessionCursor", key: expect.any(Number), cursor: "g1" }],
      [{ change: "setCallCursor", wireId: wire, cursor: "a1" }],
      [
        { change: "setCallCursor", wireId: wire, cursor: "a2" },
        { change: "dropCall", wireId: wire },
      ],
    ]);
  });

  test("nothing more is read while there is no room", async () => {
    const texts: string[] = [];
    const room = Promise.withResolvers<void>();
    const world = await openWorld({
      onText: ({ text }) => {
        texts.push(text);
        return text.includes("full") ? room.promise : undefined;
      },
    });
    await world.connect({ isListening: true });
    const stream = (await world.next()).stream();
    const log = (data: string) => ({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { data },
    });
    stream.event(log("full"), "g1");
    await rest();
    stream.event(log("later"), "g2");
    await rest();
    expect(texts.at(-1)).toContain("full");
    room.resolve();
    await rest();
    expect(texts.at(-1)).toContain("later");
  });
});

describe("calls that go on under their ids", () => {
  test(`${verifies("K-10", "K-14")}the next process gets their messages as its own`, async () => {
    const first = await openWorld();
    await first.connect();
    sendText(first, callText);
    const { post, wire } = await posted(first);
    post.stream().event({ jsonrpc: "2.0", method: "notifications/message", params: {} }, "a1");
    await rest();
    await first.transport.close();

    const heard = listener();
    const { state, time } = first;
    const next = await openWorld({ ...{ state, time }, reattach: "by-id", onText: heard.onText });
    expect(next.transport.pending()).toMatchObject([{ id: 7, method: "tools/call" }]);
    expect(await next.transport.recovered()).toEqual([]);
    next.request(0, "initialize", initializeParams);
    const ping = await next.next();
    ping.respond(200, resultFor(ping, {}));
    const get = await next.next();
    expect(get.headers["last-event-id"]).toBe("a1");
    const stream = get.stream();
    stream.write(
      `id: a2\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${wire},"progress":1}}\n\n`,
    );
    stream.event(resultFor(post, { paid: 1 }), "a3");
    await rest();
    expect(heard.arrivals.slice(1).map(({ text }) => JSON.parse(text))).toMatchObject([
      { params: { progressToken: 7, progress: 1 } },
      { id: 7, result: { paid: 1 } },
    ]);
  });

  test(`${verifies("K-10", "X-05")}one that cannot go on is told as unknown, once, and not as a message`, async () => {
    const first = await openWorld();
    await first.connect();
    sendText(first, callText);
    await posted(first);
    await first.transport.close();

    const heard = listener();
    const { state, time } = first;
    const next = await openWorld({ ...{ state, time }, reattach: "by-id", onText: heard.onText });
    next.request(0, "initialize", initializeParams);
    const ping = await next.next();
    ping.respond(404);
    await rest();
    expect(next.told.unknown).toMatchObject([{ requestId: 7, reason: "session-gone" }]);
    expect(heard.texts().filter((text) => text.includes('"id":7'))).toEqual([]);
  });
});
