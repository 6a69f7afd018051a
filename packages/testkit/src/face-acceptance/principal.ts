/** Chapter: a session belongs to the principal that opened it, and to nobody else. */
import { expect, test } from "vitest";
import { type EventStream, openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal, primed, sessionNotFound } from "./checks.ts";
import type { FaceAuthentication } from "./face.ts";
import { as, authenticateByName } from "./keyed.ts";
import { note } from "./traffic.ts";

export function principalChapter(open: OpenBench): void {
  strangers(open);
  credentials(open);
}

/** Every way to use a session: a call, listening, a resume, an end, an answer, a notification. */
function everyUse(
  session: BenchSession,
  lastEventId: string,
  headers: Readonly<Record<string, string | undefined>>,
): readonly (() => Promise<EventStream>)[] {
  const call = { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "stolen" } };
  const answer = { jsonrpc: "2.0", id: "q", result: { roots: [] } };
  return [
    () => session.post(call, { headers }),
    () => session.get({ headers }),
    () => session.get({ headers, lastEventId }),
    () => session.delete({ headers }),
    () => session.post(answer, { headers }),
    () => session.post({ jsonrpc: "2.0", method: "notifications/x" }, { headers }),
  ];
}

/** The session, its listener and its server are as they were. */
async function expectUntouched(session: BenchSession, standalone: EventStream): Promise<void> {
  session.upstream.say(note(1));
  await standalone.nextMessage(({ method }) => method === "notifications/message");
  await expectAlive(session);
  const methods = session.upstream.arrivals.map(({ message }) => message.method);
  expect(methods).toEqual(["initialize", "notifications/initialized", "ping"]);
}

function strangers(open: OpenBench): void {
  test(`${verifies("S-06", "S-04", "P-03", "c046")}another principal gets what an unknown id gets, whatever it asks`, async () => {
    let reads = 0;
    const afterRead = () => {
      reads += 1;
      return undefined;
    };
    const bench = await open({ authenticate: authenticateByName, logGate: { afterRead } });
    const session = await bench.session({ headers: as("ann") });
    const standalone = await session.get();
    const cursor = await primed(standalone);
    const readsBefore = reads;
    const unknownId = "Zm9yZ2VkLXNlc3Npb24taWQtMTIzNA";
    const stolen = everyUse(session, cursor, as("bob"));
    const unknown = everyUse(session, cursor, { ...as("bob"), "mcp-session-id": unknownId });
    for (const [index, use] of stolen.entries()) {
      const stream = await use();
      const other = await unknown[index]?.();
      expect(await stream.text()).toBe(await other?.text());
      expect(stream.status).toBe(404);
      expect(Object.keys(stream.headers)).toEqual(Object.keys(other?.headers ?? {}));
      await expectRefusal(stream, sessionNotFound("unknown"));
    }
    // Nothing was read for who may not know of it.
    expect(reads).toBe(readsBefore);
    await expectUntouched(session, standalone);
    await bench.restart("crash");
    for (const use of stolen) await expectRefusal(await use(), sessionNotFound("unknown"));
    await expectAlive(session);
    const lines = JSON.stringify(bench.logLines);
    for (const secret of [session.sessionId, unknownId, "ann", "bob"]) {
      expect(lines).not.toContain(secret);
    }
  });

  test(`${verifies("S-06", "S-04")}an ended session keeps its reason for its owner alone`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const session = await bench.session({ headers: as("ann") });
    await session.delete();
    await expectRefusal(await session.get(), sessionNotFound("deleted"));
    await expectRefusal(await session.get({ headers: as("bob") }), sessionNotFound("unknown"));
  });

  test(`${verifies("S-06")}a refreshed token is the same principal: resumes, calls and DELETE go on`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const session = await bench.session({ headers: as("ann") });
    const stream = await session.call("slow", {}, { id: 1 });
    const lastEventId = await primed(stream);
    const call = await session.upstream.request("tools/call");
    stream.destroy("rst");
    const headers = as("ann.refreshed");
    const resumed = await session.get({ lastEventId, headers });
    call.answer({ done: true });
    expect((await resumed.response(1)).result).toEqual({ done: true });
    expect((await session.delete({ headers })).status).toBe(204);
  });
}

const unauthorized = { status: 401, code: -32000, type: "unauthorized" };

function credentials(open: OpenBench): void {
  test(`${verifies("S-06", "c046")}no or bad credentials: 401 with a challenge, and the session stays`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const session = await bench.session({ headers: as("ann") });
    const standalone = await session.get();
    const cursor = await primed(standalone);
    for (const authorization of [undefined, "", "Bearer expired", "Basic YTpi"]) {
      for (const use of everyUse(session, cursor, { authorization })) {
        const stream = await use();
        await expectRefusal(stream, unauthorized);
        expect(stream.headers["www-authenticate"]).toBe('Bearer realm="test"');
      }
    }
    await expectUntouched(session, standalone);
    expect((await initialize(bench, {})).status).toBe(401);
    expect(bench.upstreams.all).toHaveLength(1);
  });

  test(`${verifies("S-06", "D-03")}who it is cannot be found out: 503, and nothing is lost`, async () => {
    const outcome: { now: () => FaceAuthentication | Promise<FaceAuthentication> } = {
      now: () => ({ kind: "principal", principal: "ann" }),
    };
    const bench = await open({ authenticate: () => outcome.now() });
    const session = await bench.session();
    const unavailable = { status: 503, code: -32000, type: "authentication-unavailable" };
    outcome.now = () => ({ kind: "unavailable", message: "Try again." });
    await expectRefusal(await session.get(), unavailable);
    await expectRefusal(await session.call("t"), { ...unavailable, data: { notRun: true } });
    outcome.now = () => Promise.reject(new Error("secret reason"));
    const stream = await session.call("t");
    expect(await stream.text()).not.toContain("secret reason");
    await expectRefusal(stream, unavailable);
    await bench.logged(({ level }) => level === "error");
    outcome.now = async () => ({ kind: "principal", principal: "ann" });
    await expectAlive(session);
  });
}

function initialize(bench: Bench, headers: Readonly<Record<string, string>>) {
  return openEventStream({
    ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
    headers: { accept: acceptBoth, "content-type": "application/json", ...headers },
  });
}
