/** Chapter: how sessions are born and named, and that none is born otherwise. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal, primed, sessionNotFound } from "./checks.ts";

export function sessionsChapter(open: OpenBench): void {
  births(open);
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
