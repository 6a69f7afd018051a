/** Chapter: sessions are born, named, and live on whatever happens to connections. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { faultProxy } from "../fault-proxy.ts";
import { NoResponseError, openExchange } from "../http-exchange.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import {
  expectAlive,
  expectRefusal,
  primed,
  replayed,
  sessionNotFound,
  textsOf,
} from "./checks.ts";

export function sessionsChapter(open: OpenBench): void {
  births(open);
  cuts(open);
  cutsByTheWay(open);
  unknownSessions(open);
  failedBirths(open);
}

const json = { accept: acceptBoth, "content-type": "application/json" };

function births(open: OpenBench): void {
  test(`${verifies("S-01", "S-09")}initialize opens a session with an id that none can guess`, async () => {
    const bench = await open();
    const ids = new Set<string>();
    for (let i = 0; i < 8; i++) {
      const { sessionId, initializeStream } = await bench.session();
      // At 6 bits a character, 128 random bits take 22.
      expect(sessionId).toMatch(/^[\x21-\x7e]{22,}$/);
      expect(initializeStream.status).toBe(200);
      ids.add(sessionId);
    }
    expect(ids.size).toBe(8);
    expect(bench.upstreams.all).toHaveLength(8);
  });

  test(`${verifies("S-05")}a request without a session id is refused, and so is initialize with one`, async () => {
    const bench = await open();
    const session = await bench.session();
    const withoutId = { headers: { "mcp-session-id": undefined } };
    const required = { status: 400, code: -32000, type: "session-required" };
    const ping = { jsonrpc: "2.0", id: 5, method: "ping" };
    await expectRefusal(await session.post(ping, withoutId), { ...required, id: 5 });
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    await expectRefusal(await session.post(notification, withoutId), { ...required, id: null });
    const response = { jsonrpc: "2.0", id: 5, result: {} };
    await expectRefusal(await session.post(response, withoutId), { ...required, id: null });
    await expectRefusal(await session.get(withoutId), required);
    await expectRefusal(await session.delete(withoutId), required);

    const again = await session.post(initializeMessage());
    await expectRefusal(again, { status: 400, code: -32000, type: "session-not-allowed", id: 0 });
    const unissued = await session.post(initializeMessage(), {
      headers: { "mcp-session-id": "an-id-that-nobody-issued" },
    });
    await expectRefusal(unissued, { status: 400, code: -32000, type: "session-not-allowed" });
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
  });
}

function cuts(open: OpenBench): void {
  test(`${verifies("S-01", "c002")}the end of a GET ends neither session nor calls`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const stream = await session.call("slow");
    const call = await session.upstream.request("tools/call");
    standalone.destroy("rst");
    await expectAlive(session);
    call.answer({ content: ["done"] });
    expect((await stream.response()).result).toEqual({ content: ["done"] });
    expect((await session.get()).status).toBe(200);
    expect(session.upstream.isClosed).toBe(false);
  });

  for (const how of ["fin", "rst"] as const) {
    test(`${verifies("S-01", "X-01")}a ${how} on any connection, at any moment, changes nothing`, async () => {
      const bench = await open();
      const session = await bench.session();
      for (const cut of moments) {
        const cursor = await cut(session, how);
        await expectAlive(session);
        const call = await session.upstream.request("tools/call");
        call.answer({ content: [] });
        const texts = await replayed(session, cursor);
        expect(texts.at(-1)).toBe('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
      }
      expect(session.upstream.isClosed).toBe(false);
      const cancelled = session.upstream.arrivals.filter(
        ({ message }) => message.method === "notifications/cancelled",
      );
      expect(cancelled).toEqual([]);
    });

    test(`${verifies("S-01")}a ${how} on the stream of initialize leaves its session usable`, async () => {
      const bench = await open();
      bench.upstreams.respond = () => undefined;
      const body = JSON.stringify(initializeMessage());
      const request = { url: bench.url, method: "POST", headers: json, body };
      const exchange = await openExchange(request);
      const upstream = await bench.upstreams.next();
      const initialize = await upstream.request("initialize");
      exchange.destroy(how);
      initialize.answer({ protocolVersion: "2025-11-25", capabilities: {} });
      const sessionId = exchange.headers["mcp-session-id"];
      const stream = await openEventStream({
        ...{ url: bench.url, method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' },
        headers: { ...json, "mcp-session-id": sessionId },
      });
      (await upstream.request("ping")).answer({});
      expect(await stream.response(1)).toMatchObject({ result: {} });
    });
  }
}

function cutsByTheWay(open: OpenBench): void {
  test(`${verifies("S-01", "X-01")}a proxy that cuts after any number of bytes changes nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    // The head alone has about 250 bytes; some cuts come before it, some behind the end.
    const rules = { afterBytes: { min: 1, max: 900 } };
    const seed = testSeed("cuts by the way");
    const proxy = await faultProxy({ target: bench.target, rules, seed });
    const post = (method: string) =>
      openEventStream({
        ...{ url: proxy.url("/mcp"), method: "POST" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { name: "tool" } }),
        headers: { ...json, "mcp-session-id": session.sessionId },
      });
    for (let round = 0; round < 40; round++) {
      const posted = post("tools/call").catch((error: unknown) => {
        if (error instanceof NoResponseError) return undefined;
        throw error;
      });
      const call = await session.upstream.request("tools/call");
      for (let i = 0; i < 3; i++) {
        session.upstream.say({
          method: "notifications/message",
          params: { level: "info", data: i },
        });
      }
      call.answer({ round });
      const stream = await posted;
      await stream?.ended;
      const cursor = stream?.lastEventId;
      if (stream === undefined || cursor === undefined) continue;
      const resumed = await session.get({ lastEventId: cursor });
      expect(resumed.status).toBeOneOf([200, 204]);
      await resumed.body();
      const texts = [...textsOf(stream), ...textsOf(resumed)];
      expect(texts.map((text) => JSON.parse(text))).toMatchObject([
        ...[0, 1, 2].map((data) => ({ params: { data } })),
        { id: 1, result: { round } },
      ]);
    }
    await expectAlive(session);
    expect(session.upstream.isClosed).toBe(false);
    expect(bench.upstreams.all).toHaveLength(1);
  });
}

/** Begin a call with id 1, cut a connection at some moment of it, and give the call's cursor. */
type Cut = (session: BenchSession, how: "fin" | "rst") => Promise<string>;

const moments: readonly Cut[] = [
  // Before the upstream has said anything.
  async (session, how) => {
    const stream = await session.call("tool", {}, { id: 1 });
    const cursor = await primed(stream);
    stream.destroy(how);
    return cursor;
  },
  // After some progress.
  async (session, how) => {
    const stream = await session.call("tool", {}, { id: 1, progressToken: 1 });
    const cursor = await primed(stream);
    session.upstream.say({ method: "notifications/message", params: { level: "info", data: 1 } });
    await stream.nextMessage();
    stream.destroy(how);
    return cursor;
  },
  // On a viewport that resumed, twice.
  async (session, how) => {
    const stream = await session.call("tool", {}, { id: 1 });
    const cursor = await primed(stream);
    stream.destroy(how);
    for (let i = 0; i < 2; i++) {
      const viewport = await session.get({ lastEventId: cursor });
      await viewport.next();
      viewport.destroy(how);
    }
    return cursor;
  },
  // On another connection: the standalone stream.
  async (session, how) => {
    const cursor = await primed(await session.call("tool", {}, { id: 1 }));
    const standalone = await session.get();
    standalone.destroy(how);
    return cursor;
  },
];

function unknownSessions(open: OpenBench): void {
  test(`${verifies("S-04", "c023", "c015")}an id that was never issued is unknown, and is not adopted`, async () => {
    const bench = await open();
    const session = await bench.session();
    const cursor = await primed(await session.get());
    const unknown = { headers: { "mcp-session-id": "Zm9yZ2VkLXNlc3Npb24taWQtMTIzNA" } };
    for (let round = 0; round < 2; round++) {
      await expectNoSession(session, unknown, cursor, "unknown");
    }
    expect(bench.upstreams.all).toHaveLength(1);
  });

  test(`${verifies("S-04", "S-08", "c023")}a deleted session stays deleted`, async () => {
    const bench = await open();
    const session = await bench.session();
    const cursor = await primed(await session.get());
    expect((await session.delete()).status).toBe(204);
    for (let round = 0; round < 2; round++) {
      await expectNoSession(session, {}, cursor, "deleted");
    }
    const later = await bench.session();
    expect(later.sessionId).not.toBe(session.sessionId);
    expect(bench.upstreams.all).toHaveLength(2);
  });
}

/** Every way to use a session is answered by 404 with this reason. */
async function expectNoSession(
  session: BenchSession,
  options: { readonly headers?: Readonly<Record<string, string>> },
  lastEventId: string,
  reason: string,
): Promise<void> {
  const refusal = sessionNotFound(reason);
  const call = { jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "t" } };
  await expectRefusal(await session.post(call, options), { ...refusal, id: "c" });
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
  await expectRefusal(await session.post(notification, options), refusal);
  await expectRefusal(await session.get(options), refusal);
  await expectRefusal(await session.get({ ...options, lastEventId }), refusal);
  await expectRefusal(await session.delete(options), refusal);
}

function failedBirths(open: OpenBench): void {
  const initialize = async (url: string) => {
    const body = JSON.stringify(initializeMessage());
    return openEventStream({ url, method: "POST", headers: json, body });
  };
  const expectEnded = async (url: string, sessionId: string | undefined) => {
    const headers = { ...json, "mcp-session-id": sessionId };
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const post = await openEventStream({ url, method: "POST", headers, body: ping });
    await expectRefusal(post, { ...sessionNotFound("ended"), id: 1 });
    await expectRefusal(await openEventStream({ url, headers }), sessionNotFound("ended"));
  };

  test(`${verifies("S-03")}an upstream that refuses initialize ends the session with its error`, async () => {
    const bench = await open();
    bench.upstreams.respond = () => undefined;
    const stream = await initialize(bench.url);
    const upstream = await bench.upstreams.next();
    const error = { code: -32602, message: "not today", data: { why: [1] } };
    (await upstream.request("initialize")).fail(error);
    expect(await stream.response()).toEqual({ jsonrpc: "2.0", id: 0, error });
    expect((await stream.ended).how).toBe("end");
    await expectEnded(bench.url, stream.headers["mcp-session-id"]);
    await upstream.closed;
  });

  test(`${verifies("S-03")}an upstream that dies at initialize ends the session with an error`, async () => {
    const bench = await open();
    bench.upstreams.respond = () => undefined;
    const stream = await initialize(bench.url);
    const upstream = await bench.upstreams.next();
    await upstream.request("initialize");
    upstream.die();
    const answer = await stream.response();
    expect(answer).toMatchObject({ id: 0, error: { code: -32011 } });
    expect((await stream.ended).how).toBe("end");
    await expectEnded(bench.url, stream.headers["mcp-session-id"]);
    expect(bench.upstreams.all).toHaveLength(1);
  });

  test(`${verifies("S-03")}an upstream that cannot start ends the session with an error`, async () => {
    const bench = await open();
    bench.upstreams.startFailure = "no such file";
    const stream = await initialize(bench.url);
    expect(await stream.response()).toMatchObject({ id: 0, error: { code: -32011 } });
    expect((await stream.ended).how).toBe("end");
    await expectEnded(bench.url, stream.headers["mcp-session-id"]);
    bench.upstreams.startFailure = undefined;
    await expectAlive(await bench.session());
  });
}
