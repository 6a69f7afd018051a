/** A process that dies, and another that takes over its state [C K-03] [C K-10] [C K-14]. */
import { memoryState, type ResumableClientOptions } from "@holdfast/client";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { ScriptedRequest } from "./scripted-fetch.ts";
import { rest } from "./virtual-time.ts";
import {
  holdfastCapability,
  initializeParams,
  initializeResult,
  logMessage,
  openWorld,
  resultFor,
  type World,
  withKeys,
} from "./world.ts";

/** The transport is gone, its state is free; what it had under way is not told to anybody. */
async function die(world: World): Promise<void> {
  await rest();
  await world.transport.close();
}

/** The next process: it initializes as the one before, and the stored session answers. */
async function reborn(world: World, options: ResumableClientOptions = {}): Promise<World> {
  const next = await openWorld({ ...options, state: world.state, time: world.time });
  next.request(0, "initialize", initializeParams);
  return next;
}

async function confirm(world: World, sessionId = "S1"): Promise<void> {
  const ping = await world.next();
  expect([ping.body.method, ping.headers["mcp-session-id"]]).toEqual(["ping", sessionId]);
  ping.respond(200, resultFor(ping, {}));
  await rest();
}

/** A call with one event, cut off by the death of its process. */
async function orphan(world: World, id = 7, name = "charge"): Promise<ScriptedRequest> {
  world.call(id, name);
  const post = await world.next();
  const stream = post.stream();
  stream.event(logMessage("begun"), `e${id}`);
  await rest();
  return post;
}

describe("the process after the one that died", () => {
  test(`${verifies("K-10", "K-03")}answers initialize from the stored session, and resumes its streams`, async () => {
    const first = await openWorld();
    await first.connect({ isListening: true });
    (await first.next()).stream().event(logMessage(0), "g1");
    const post = await orphan(first);
    await die(first);

    const second = await reborn(first);
    expect(second.transport.sessionId).toBeUndefined();
    await confirm(second);
    expect(second.answersTo(0)).toEqual([{ jsonrpc: "2.0", id: 0, result: initializeResult() }]);
    expect(second.transport.sessionId).toBe("S1");
    await second.transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await rest();
    const gets = second.server.open();
    expect(gets.map(({ method, headers }) => [method, headers["last-event-id"]])).toEqual([
      ["GET", "e7"],
      ["GET", "g1"],
    ]);
    gets[0]?.stream().event(resultFor(post, { paid: 1 }), "e8");
    const [call] = await second.transport.recovered();
    expect(call).toMatchObject({ id: 7, method: "tools/call", name: "charge" });
    expect(call?.params).toEqual({ name: "charge", arguments: {} });
    expect(await call?.outcome()).toEqual({ kind: "result", result: { paid: 1 } });
    // Nothing but the initialize reached the application by itself.
    expect(second.told.messages).toHaveLength(1);
    const initializes = second.server.requests.filter(({ body }) => body.method === "initialize");
    expect(initializes).toEqual([]);
  });

  test(`${verifies("K-10")}attaches an identical call to it, once; a third one runs`, async () => {
    const first = await openWorld();
    await first.connect();
    const post = await orphan(first);
    await die(first);
    const second = await reborn(first);
    await confirm(second);
    second.call(1);
    second.call(2);
    await rest();
    const [get, again, ...more] = second.server.open();
    expect([get?.method, again?.body.method, more.length]).toEqual(["GET", "tools/call", 0]);
    again?.respond(200, resultFor(again, { paid: 2 }));
    get?.stream().event(resultFor(post, { paid: 1 }), "e8");
    await rest();
    expect(second.answersTo(1)).toMatchObject([{ result: { paid: 1 } }]);
    expect(second.answersTo(2)).toMatchObject([{ result: { paid: 2 } }]);
    expect(await second.transport.recovered()).toEqual([]);
    await die(second);
    const third = await reborn(second);
    expect(await third.transport.recovered()).toEqual([]);
  });

  test(`${verifies("K-10")}attaches to an outcome that came before anybody asked`, async () => {
    const first = await openWorld();
    await first.connect();
    const post = await orphan(first);
    await die(first);
    const second = await reborn(first);
    await confirm(second);
    (await second.next()).stream().event(resultFor(post, { paid: 1 }), "e8");
    await die(second);
    // A third process: the outcome is kept until somebody has it.
    const third = await reborn(second);
    await confirm(third);
    third.call(5);
    await rest();
    expect(third.answersTo(5)).toMatchObject([{ result: { paid: 1 } }]);
    expect(third.server.open()).toEqual([]);
    expect(await third.transport.recovered()).toEqual([]);
  });

  test.each([
    ["other arguments", { reattach: true }, { name: "charge", arguments: { amount: 2 } }],
    ["another tool", { reattach: true }, { name: "refund", arguments: {} }],
    ["the same, but reattach is off", { reattach: false }, { name: "charge", arguments: {} }],
  ] as const)(`${verifies("K-10")}%s: the call runs`, async (_name, options, params) => {
    const first = await openWorld();
    await first.connect();
    await orphan(first);
    await die(first);
    const second = await reborn(first, options);
    await confirm(second);
    (await second.next()).stream();
    second.request(1, "tools/call", params);
    expect((await second.next()).body.method).toBe("tools/call");
  });

  test(`${verifies("K-10")}_meta and the order of keys make no other call`, async () => {
    const first = await openWorld();
    await first.connect();
    const args = { a: 1, b: { c: [1, 2], d: null } };
    first.request(1, "tools/call", { name: "x", arguments: args, _meta: { progressToken: 1 } });
    (await first.next()).stream().event(logMessage(1), "e1");
    await die(first);
    const second = await reborn(first);
    await confirm(second);
    const turned = { b: { d: null, c: [1, 2] }, a: 1 };
    second.request(9, "tools/call", { arguments: turned, name: "x", _meta: { other: true } });
    await rest();
    expect(second.server.open().map(({ method }) => method)).toEqual(["GET"]);
  });

  test(`${verifies("K-09", "K-10")}a call of which no id was seen: unknown, unless it may be repeated`, async () => {
    for (const [capability, method, expected] of [
      [holdfastCapability, "tools/call", "unknown"],
      [withKeys, "tools/call", "sent again"],
      [holdfastCapability, "tools/list", "sent again"],
    ] as const) {
      const first = await openWorld();
      await first.connect({ capability });
      first.request(1, method, { name: "charge" });
      const post = await first.next();
      await die(first);
      const second = await reborn(first);
      await confirm(second);
      const [call] = await second.transport.recovered();
      if (expected === "sent again") {
        await second.time.toNext();
        const again = await second.next();
        expect(again.body).toEqual(post.body);
        expect(again.headers["idempotency-key"]).toBe(post.headers["idempotency-key"]);
        again.respond(200, resultFor(again, { done: true }));
        expect(await call?.outcome()).toEqual({ kind: "result", result: { done: true } });
      } else {
        expect(await call?.outcome()).toMatchObject({
          kind: "unknown",
          outcome: { requestId: 1, reason: "unreachable" },
        });
      }
    }
  });

  test.each([
    { hours: 23.9, isRepeated: true },
    { hours: 24, isRepeated: false },
  ])(
    `${verifies("K-09", "X-03")}a key is trusted for as long as it is kept: $hours h, $isRepeated`,
    async ({ hours, isRepeated }) => {
      const first = await openWorld();
      await first.connect({ capability: withKeys });
      first.call(1);
      await first.next();
      await die(first);
      await first.time.pass(hours * 3_600_000);
      const second = await reborn(first);
      await confirm(second);
      const [call] = await second.transport.recovered();
      if (isRepeated) {
        await second.time.toNext();
        const again = await second.next();
        again.respond(200, resultFor(again));
      }
      expect(await call?.outcome()).toMatchObject({ kind: isRepeated ? "result" : "unknown" });
      expect(await second.quiet()).toBe(true);
    },
  );

  test(`${verifies("K-10", "K-07")}finds the session gone: a new one, and no call is forgotten`, async () => {
    const first = await openWorld();
    await first.connect();
    await orphan(first);
    await die(first);
    const second = await reborn(first);
    (await second.next()).respond(404);
    const asked = await second.next();
    expect([asked.body.method, asked.headers["mcp-session-id"]]).toEqual(["initialize", undefined]);
    const fresh = { ...initializeResult(), instructions: "fresh" };
    asked.respond(200, resultFor(asked, fresh), { "mcp-session-id": "S2" });
    await rest();
    expect(second.answersTo(0)).toMatchObject([{ result: { instructions: "fresh" } }]);
    const [call] = await second.transport.recovered();
    expect(await call?.outcome()).toMatchObject({
      kind: "unknown",
      outcome: { reason: "session-gone" },
    });
    expect(second.told.ended).toMatchObject([{ sessionId: "S1" }]);
  });

  test(`${verifies("K-10")}is another application: a session of its own, the old one is drained`, async () => {
    const first = await openWorld();
    await first.connect();
    const post = await orphan(first);
    await die(first);
    const second = await openWorld({ state: first.state, time: first.time });
    const params = { ...initializeParams, clientInfo: { name: "other", version: "2" } };
    second.request(0, "initialize", params);
    await rest();
    const [get, asked] = second.server.open().toSorted((a) => (a.method === "GET" ? -1 : 1));
    expect(asked?.headers["mcp-session-id"]).toBeUndefined();
    asked?.respond(200, resultFor(asked, initializeResult()), { "mcp-session-id": "S2" });
    expect([get?.headers["mcp-session-id"], get?.headers["last-event-id"]]).toEqual(["S1", "e7"]);
    get?.stream().event(resultFor(post, { paid: 1 }), "e8");
    await rest();
    expect(second.transport.sessionId).toBe("S2");
    const [call] = await second.transport.recovered();
    expect(await call?.outcome()).toMatchObject({ kind: "result" });
    expect(second.told.ended).toEqual([]);
  });

  test.each([200, 401])(
    `${verifies("K-10", "K-07")}nothing new goes into a drained session; initialize is answered %i`,
    async (status) => {
      const first = await openWorld();
      await first.connect();
      await orphan(first);
      await die(first);
      const second = await reborn(first, { reattach: false });
      // The server knows no ping: what is stored is drained, and the application gets its own.
      (await second.next()).respond(200, "<html>");
      const { sent } = second.call(8, "other");
      await rest();
      const [resumed, initialize] = second.server.open();
      expect(resumed?.headers["last-event-id"]).toBe("e7");
      expect(initialize?.body.method).toBe("initialize");
      expect(second.server.open()).toHaveLength(2);
      if (initialize === undefined || status === 401) {
        initialize?.respond(status);
        await expect(sent).rejects.toMatchObject({ code: "ERR_NOT_RUN" });
        return;
      }
      const named = { "mcp-session-id": "S2" };
      initialize.respond(200, resultFor(initialize, initializeResult()), named);
      await rest();
      const call = second.server.open().find(({ body }) => body.method === "tools/call");
      expect(call?.headers["mcp-session-id"]).toBe("S2");
      call?.respond(200, resultFor(call));
      await sent;
    },
  );

  test(`${verifies("K-10")}cannot reach the server: connect fails, and nothing is lost`, async () => {
    const first = await openWorld();
    await first.connect();
    const post = await orphan(first);
    await die(first);
    const second = await openWorld({
      ...{ state: first.state, time: first.time, reconnect: { maxAttempts: 1 } },
    });
    const { sent } = second.request(0, "initialize", initializeParams);
    (await second.next()).die();
    await second.time.toNext();
    (await second.next()).die();
    await expect(sent).rejects.toMatchObject({ code: "ERR_NOT_RUN" });
    await die(second);
    const third = await reborn(second);
    await confirm(third);
    (await third.next()).stream().event(resultFor(post, { paid: 1 }), "e8");
    const [call] = await third.transport.recovered();
    expect(await call?.outcome()).toMatchObject({ kind: "result" });
  });

  test(`${verifies("K-10")}has nothing to do with sessions of another server`, async () => {
    const state = memoryState();
    const first = await openWorld({ state });
    await first.connect();
    const post = await orphan(first);
    await die(first);
    const { ResumableClientTransport } = await import("@holdfast/client");
    const other = new ResumableClientTransport("http://127.0.0.1:9/other", {
      ...{ state, fetch: first.server.fetch },
    });
    await other.start();
    expect(await other.recovered()).toEqual([]);
    await other.close();
    const third = await reborn(first);
    await confirm(third);
    (await third.next()).stream().event(resultFor(post, { paid: 1 }), "e8");
    const [call] = await third.transport.recovered();
    expect(await call?.outcome()).toMatchObject({ kind: "result" });
  });
});

describe("a state that cannot be written", () => {
  test(`${verifies("K-03")}lets no request out; when it can be written again, they go`, async () => {
    const state = memoryState();
    let isFull = false;
    const noted: unknown[] = [];
    const commit: typeof state.commit = (changes) => {
      if (isFull) throw new Error("the disk is full");
      for (const one of changes) if (one.change === "putCall") noted.push(one.call.wireId);
      state.commit(changes);
    };
    const world = await openWorld({ state: { ...state, commit } });
    await world.connect();
    isFull = true;
    await expect(world.call(1).sent).rejects.toThrow("the disk is full");
    expect(await world.quiet()).toBe(true);
    isFull = false;
    world.call(2);
    const post = await world.next();
    // It is in the ledger before a byte of it leaves.
    expect(noted.at(-1)).toBe(post.body.id);
  });

  test(`${verifies("K-03", "K-10")}an end is in the state when the turn is over, not before it is handed on`, async () => {
    const state = memoryState();
    const dropped: unknown[] = [];
    const commit: typeof state.commit = (changes) => {
      for (const one of changes) if (one.change === "dropCall") dropped.push(one.wireId);
      state.commit(changes);
    };
    const world = await openWorld({ state: { ...state, commit } });
    await world.connect();
    world.call(1);
    const post = await world.next();
    const before: unknown[] = [];
    world.transport.onmessage = () => {
      // What the application does with it by promises comes before the state forgets the call.
      Promise.resolve().then(() => before.push(dropped.includes(post.body.id)));
    };
    post.respond(200, resultFor(post));
    await rest();
    expect([before, dropped.at(-1)]).toEqual([[false], post.body.id]);
  });
});

describe("ids on the wire", () => {
  test(`${verifies("K-14")}are never used twice, over all processes and blocks`, async () => {
    const state = memoryState();
    const seen = new Set<unknown>();
    let world: World | undefined;
    for (let life = 0; life < 5; life += 1) {
      if (world !== undefined) await die(world);
      world = await openWorld({ state, reattach: false });
      await world.connect({ sessionId: null });
      for (let id = 0; id < 3; id += 1) world.call(id);
      await rest();
      for (const { body, headers } of world.server.requests) {
        if (body.id === undefined) continue;
        expect([seen.has(body.id), headers["mcp-session-id"]]).toEqual([false, undefined]);
        seen.add(body.id);
      }
    }
    expect(seen.size).toBe(20);
  });

  test(`${verifies("K-14")}an answer to a call of an earlier process reaches no call of this one`, async () => {
    const first = await openWorld();
    await first.connect();
    const post = await orphan(first, 1);
    await die(first);
    const second = await reborn(first, { reattach: false });
    await confirm(second);
    const get = await second.next();
    second.call(1);
    await rest();
    get.stream().event(resultFor(post, { receipt: "of the first" }), "e8");
    await rest();
    expect(second.answersTo(1)).toEqual([]);
  });

  test(`${verifies("K-14")}progress goes by tokens of the application, whatever they are`, async () => {
    const world = await openWorld();
    await world.connect();
    for (const [id, progressToken] of [
      [1, "mine"],
      [2, 0],
    ] as const) {
      world.request(id, "tools/call", { name: "x", _meta: { progressToken, more: 1 } });
      const post = await world.next();
      const meta = post.body.params?._meta as { progressToken: unknown; more: unknown };
      expect(meta).toEqual({ progressToken: post.body.id, more: 1 });
      const params = { progressToken: post.body.id, progress: 5 };
      const stream = post.stream();
      stream.event({ jsonrpc: "2.0", method: "notifications/progress", params });
      const stale = { ...params, progressToken: 999_999 };
      stream.event({ jsonrpc: "2.0", method: "notifications/progress", params: stale });
      await rest();
      expect(world.told.messages.at(-1)?.params).toEqual({ progressToken, progress: 5 });
    }
    const progress = world.told.messages.filter(({ method }) => method?.endsWith("progress"));
    expect(progress).toHaveLength(2);
  });

  test(`${verifies("K-14", "X-01")}a cancellation names the call by its id there`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(5);
    const post = await world.next();
    const stream = post.stream();
    await rest();
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
    void world.transport.send({ ...cancelled, params: { requestId: 5, reason: "no" } });
    const told = await world.next();
    expect(told.body.params).toEqual({ requestId: post.body.id, reason: "no" });
    told.respond(202);
    stream.end();
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
    expect(world.answersTo(5)).toEqual([]);
    expect(world.transport.pending()).toEqual([]);
    // Of a call that has ended there is nothing to say.
    await world.transport.send({ ...cancelled, params: { requestId: 5 } });
    expect(await world.quiet()).toBe(true);
  });
});

describe("requests of a server", () => {
  const ask = { jsonrpc: "2.0", id: "q1", method: "sampling/createMessage", params: {} };
  const answer = { jsonrpc: "2.0", id: "q1", result: { model: "m" } };

  test(`${verifies("X-06")}are answered in the session that asked, after a cut as before`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    const stream = post.stream();
    stream.event(ask, "e1");
    await rest();
    stream.reset();
    const sent = world.transport.send(answer);
    const first = await world.next();
    expect(first.body).toEqual(answer);
    // Whether it arrived is not known: a server takes it once.
    first.die();
    await world.time.toNext();
    for (const one of world.server.open()) {
      if (one.method === "POST") one.respond(202);
      else one.stream();
    }
    await world.time.pass(5_000);
    for (const one of world.server.open()) if (one.method === "POST") one.respond(202);
    await sent;
  });

  test(`${verifies("K-07", "X-06")}of a session that is gone are answered to nobody`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    (await world.next()).stream().event(ask, "e1");
    await rest();
    world.call(2);
    (await world.next()).respond(404);
    await rest();
    await world.transport.send(answer);
    await rest();
    expect(world.server.open().map(({ body }) => body.method)).toEqual(["initialize"]);
    await world.transport.send({ ...answer, id: "never asked" });
    expect(world.server.open()).toHaveLength(1);
  });
});
