/** A session that is gone: one new one, and nothing twice [C K-07]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { ScriptedRequest } from "./scripted-fetch.ts";
import { rest } from "./virtual-time.ts";
import {
  holdfastCapability,
  initializeParams,
  initializeResult,
  openWorld,
  resultFor,
  type World,
  withKeys,
} from "./world.ts";

const gone = {
  jsonrpc: "2.0",
  id: null,
  error: { code: -32001, message: "Session not found", data: { reason: "expired" } },
};

/** Play a server that lost its session: answer one renewal. */
async function renew(world: World, sessionId = "S2", result = initializeResult()): Promise<void> {
  const asked = await world.next();
  expect([asked.body.method, asked.headers["mcp-session-id"]]).toEqual(["initialize", undefined]);
  expect(asked.body.params).toEqual(initializeParams);
  asked.respond(200, resultFor(asked, result), { "mcp-session-id": sessionId });
  const initialized = await world.next();
  expect([initialized.body.method, initialized.headers["mcp-session-id"]]).toEqual([
    ...["notifications/initialized", sessionId],
  ]);
  initialized.respond(202);
  await rest();
}

function postIn(world: World): ScriptedRequest | undefined {
  return world.server.open().find(({ method }) => method === "POST");
}

function openBy(world: World): string[] {
  return world.server.open().map(({ method, body }) => body.method ?? method);
}

async function answerAll(world: World): Promise<ScriptedRequest[]> {
  await rest();
  const asked = world.server.open();
  for (const one of asked) {
    if (one.method === "GET") one.respond(405);
    else one.respond(200, resultFor(one, { by: one.headers["mcp-session-id"] }));
  }
  await rest();
  return asked;
}

describe("a session that is gone", () => {
  test(`${verifies("K-07", "c016")}is renewed once for four calls; they run once in the new one`, async () => {
    const world = await openWorld();
    await world.connect();
    for (const id of [1, 2, 3, 4]) world.call(id);
    await rest();
    const posts = world.server.open();
    expect(posts).toHaveLength(4);
    posts[0]?.respond(404, gone);
    await rest();
    for (const post of posts.slice(1)) post.respond(404, gone);
    await rest();
    expect(openBy(world)).toEqual(["initialize"]);
    await renew(world);
    const again = await answerAll(world);
    expect(again.map(({ body }) => body.method ?? "GET").toSorted()).toEqual([
      ...["GET", "tools/call", "tools/call", "tools/call", "tools/call"],
    ]);
    expect(again.every(({ headers }) => headers["mcp-session-id"] === "S2")).toBe(true);
    for (const id of [1, 2, 3, 4])
      expect(world.answersTo(id)).toMatchObject([{ result: { by: "S2" } }]);
    expect(world.told.ended).toEqual([{ sessionId: "S1", reason: "expired" }]);
    expect(world.told.unknown).toEqual([]);
    expect(world.transport.sessionId).toBe("S2");
  });

  test(`${verifies("K-07", "c016")}ends what it had accepted as unknown; later calls run`, async () => {
    const world = await openWorld();
    await world.connect({ capability: withKeys });
    world.call(1);
    const post = await world.next();
    const stream = post.stream();
    stream.write("id: s1.0\ndata:\n\n");
    await rest();
    stream.reset();
    await world.time.pass(1_000);
    const get = await world.next();
    expect(get.headers["last-event-id"]).toBe("s1.0");
    get.respond(404, gone);
    await rest();
    expect(world.answersTo(1)).toMatchObject([
      { error: { code: -32011, data: { reason: "session-gone", requestId: 1 } } },
    ]);
    world.call(2);
    await renew(world, "S2", initializeResult(withKeys));
    const asked = await answerAll(world);
    const calls = asked.filter(({ body }) => body.method === "tools/call");
    expect(calls.map(({ headers }) => headers["mcp-session-id"])).toEqual(["S2"]);
    expect(world.answersTo(2)).toMatchObject([{ result: { by: "S2" } }]);
    // No cursor of the old session was ever shown to the new one.
    const cursors = world.server.requests.filter(({ headers }) => "last-event-id" in headers);
    expect(cursors.map(({ headers }) => headers["mcp-session-id"])).toEqual(["S1"]);
  });

  test(`${verifies("K-07")}repeats what only reads, and tools that are annotated so`, async () => {
    const world = await openWorld();
    await world.connect();
    world.request(1, "tools/list");
    const tools = [
      { name: "look", inputSchema: {}, annotations: { readOnlyHint: true } },
      { name: "put", inputSchema: {}, annotations: { idempotentHint: true } },
      { name: "charge", inputSchema: {}, annotations: { readOnlyHint: false } },
    ];
    const list = await world.next();
    list.respond(200, resultFor(list, { tools }));
    await rest();
    const names = ["look", "put", "charge", "unlisted"];
    names.forEach((name, i) => void world.call(10 + i, name));
    world.request(20, "resources/read", { uri: "a://b" });
    await rest();
    const streams = world.server.open().map((one) => one.stream());
    for (const [i, stream] of streams.entries()) stream.write(`id: x${i}\ndata:\n\n`);
    await rest();
    world.call(30);
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world);
    const again = await answerAll(world);
    const repeated = again.map(({ body }) => body.params?.name ?? body.params?.uri ?? "-");
    expect(repeated.toSorted()).toEqual(["-", "a://b", "charge", "look", "put"]);
    expect(world.told.unknown.map(({ requestId }) => requestId)).toEqual([12, 13]);
    for (const id of [10, 11, 20, 30]) expect(world.answersTo(id)).toMatchObject([{ result: {} }]);
  });

  test.each([
    { scope: undefined, durability: "process", runs: 0 },
    { scope: "session", durability: "process", runs: 0 },
    { scope: "principal", durability: "process", runs: 1 },
    { scope: "shared", durability: "power", runs: 1 },
    { scope: "shared", durability: "memory", runs: 0 },
  ])(
    `${verifies("K-07")}a key that reaches as far as $scope, in $durability: $runs repetitions`,
    async ({ scope, durability, runs }) => {
      const capability = {
        ...{ ...withKeys, durability },
        idempotency: { ...withKeys.idempotency, scope },
      };
      const world = await openWorld();
      await world.connect({ capability });
      world.call(1);
      const post = await world.next();
      const stream = post.stream();
      await rest();
      stream.reset();
      await world.time.pass(1_000);
      const second = await world.next();
      expect(second.headers["idempotency-key"]).toBe(post.headers["idempotency-key"]);
      second.respond(404, gone);
      await rest();
      await renew(world, "S2", initializeResult(capability));
      const again = await answerAll(world);
      expect(again.filter(({ body }) => body.method === "tools/call")).toHaveLength(runs);
      expect(world.told.unknown).toHaveLength(1 - runs);
      expect(world.answersTo(1)).toHaveLength(1);
    },
  );

  test(`${verifies("K-07")}gets its log level and subscriptions again`, async () => {
    const world = await openWorld();
    await world.connect();
    const set = async (id: number, method: string, params: object) => {
      world.request(id, method, params);
      const asked = await world.next();
      asked.respond(200, resultFor(asked, {}));
      await rest();
    };
    await set(1, "logging/setLevel", { level: "debug" });
    await set(2, "resources/subscribe", { uri: "a://1" });
    await set(3, "resources/subscribe", { uri: "a://2" });
    await set(4, "resources/unsubscribe", { uri: "a://1" });
    world.call(5);
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world);
    const again = await answerAll(world);
    const posts = again.filter(({ method }) => method === "POST");
    expect(posts.map(({ body }) => [body.method, body.params])).toEqual([
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "a://2" }],
      ["tools/call", { name: "charge", arguments: {} }],
    ]);
  });

  test(`${verifies("K-07")}three times in a row without a served request: parked, then by probe`, async () => {
    const world = await openWorld({ internals: { probeMs: 60_000 } });
    await world.connect();
    const { sent } = world.call(1);
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world, "R1");
    // Once more by 404, and no more: the call ends as an error, for it did not run.
    postIn(world)?.respond(404, gone);
    await expect(sent).rejects.toMatchObject({ status: 404 });
    await renew(world, "R2");
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world, "R3");
    (await world.next()).respond(404, gone);
    await rest();
    expect(world.told.parked).toMatchObject([{ why: "renewals" }]);
    expect(world.server.open()).toEqual([]);
    await world.time.pass(60_000);
    await renew(world, "R5");
    expect(world.told.resumed).toBe(1);
    expect(world.transport.sessionId).toBe("R5");
  });

  test(`${verifies("K-07", "K-09")}a call that is answered 404 twice ends as an error`, async () => {
    const world = await openWorld();
    await world.connect();
    const { sent } = world.call(1);
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world);
    postIn(world)?.respond(404, gone);
    await expect(sent).rejects.toMatchObject({ code: "ERR_HTTP_STATUS", status: 404 });
    expect(world.told.unknown).toEqual([]);
  });

  test(`${verifies("D-01", "K-01", "K-07")}event: close: no further GET; the next call opens a new one`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    world.call(1);
    const post = await world.next();
    const stream = post.stream();
    stream.write("id: s1.0\ndata:\n\n");
    await rest();
    standalone.write('event: close\ndata: {"reason":"deleted"}\n\n');
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "session-ended" } } }]);
    expect(world.told.ended).toEqual([{ sessionId: "S1", reason: "deleted" }]);
    expect(stream.isCancelled()).toBe(true);
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
    world.call(2);
    await renew(world);
    await answerAll(world);
    expect(world.answersTo(2)).toMatchObject([{ result: { by: "S2" } }]);
  });

  test(`${verifies("D-01", "K-07", "K-09")}event: close: a call that did not run keeps its time, and asks for a new one`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    world.call(1);
    (await world.next()).respond(429, undefined, { "retry-after": "5" });
    standalone.write('event: close\ndata: {"reason":"deleted"}\n\n');
    await world.time.pass(4_900);
    expect(await world.quiet()).toBe(true);
    await world.time.pass(200);
    await renew(world);
    await answerAll(world);
    expect(world.answersTo(1)).toMatchObject([{ result: { by: "S2" } }]);
  });

  test(`${verifies("K-09")}the application ends it: a call that did not run ends as an error`, async () => {
    const world = await openWorld();
    await world.connect();
    const { sent } = world.call(1);
    (await world.next()).respond(429);
    const ended = world.transport.terminateSession();
    (await world.next()).respond(204);
    await ended;
    await expect(sent).rejects.toMatchObject({ code: "ERR_HTTP_STATUS", status: 429 });
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
  });

  test(`${verifies("K-07")}the transport is closed meanwhile: nobody is left with a rejection`, async () => {
    const world = await openWorld();
    await world.connect();
    const { sent } = world.call(1);
    (await world.next()).respond(404, gone);
    // Its own initialize is under way; an unhandled rejection fails the run.
    expect((await world.next()).body.method).toBe("initialize");
    await world.transport.close();
    await expect(sent).rejects.toMatchObject({ code: "ERR_CLIENT_CLOSED" });
    await rest();
  });

  test(`${verifies("c016")}no session at all: a GET that is answered 404 is no stream, and no loop`, async () => {
    const world = await openWorld();
    await world.connect({ sessionId: null, isListening: true });
    (await world.next()).respond(404);
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
    expect(world.told.ended).toEqual([]);
    const { sent } = world.call(1);
    (await world.next()).respond(404);
    await expect(sent).rejects.toMatchObject({ status: 404 });
  });

  test(`${verifies("K-07")}another server in its place is reported`, async () => {
    const world = await openWorld();
    await world.connect({ capability: holdfastCapability });
    world.call(1);
    (await world.next()).respond(404, gone);
    await rest();
    await renew(world, "S2", initializeResult());
    expect(world.told.contracts.at(-1)?.shortfalls.map(({ type }) => type)).toEqual([
      ...["no-resume-contract", "memory-state", "server-changed"],
    ]);
  });
});
