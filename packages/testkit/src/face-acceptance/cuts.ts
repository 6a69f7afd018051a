/** Chapter: no closing of a connection, whatever its cause and moment, changes a session. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { faultProxy } from "../fault-proxy.ts";
import { NoResponseError, openExchange } from "../http-exchange.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, primed, replayed, textsOf } from "./checks.ts";

export function cutsChapter(open: OpenBench): void {
  cuts(open);
  cutsByTheWay(open);
}

const json = { accept: acceptBoth, "content-type": "application/json" };

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
