import { once } from "node:events";
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import {
  acceptBoth,
  answerOf,
  disposeAll,
  type EventStream,
  initializeMessage,
  onDispose,
  openEventStream,
  openSession,
  type RawSession,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type GatewayProcess, scratchDirectory, startGateway } from "./gateway-process.ts";
import { remoteServer } from "./remote-server.ts";

afterEach(disposeAll);

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => index);

/** The event that a reader saw last, or the one its stream began with. */
const cursorOf = (stream: EventStream) => stream.lastEventId ?? "";

/** A resume of a session of an earlier process. */
function resume(gateway: GatewayProcess, session: RawSession, cursor: string) {
  const headers = { "mcp-session-id": session.sessionId, "last-event-id": cursor };
  return openEventStream({
    url: gateway.url,
    headers: { accept: "text/event-stream", ...headers },
  });
}

function initialize(url: string): Promise<EventStream> {
  const headers = { accept: acceptBoth, "content-type": "application/json" };
  const body = JSON.stringify(initializeMessage());
  return openEventStream({ url, method: "POST", body, headers });
}

async function expectDraining(refused: EventStream): Promise<void> {
  expect(refused.status).toBe(503);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect(refused.headers.connection).toBe("close");
  expect((await answerOf(refused)).error?.data).toEqual({ type: "draining", notRun: true });
}

/** Let go, not ended: `retry:`, no `close` event, and a clean end. */
async function expectLetGo(stream: EventStream): Promise<void> {
  await stream.rest();
  expect(await stream.ended).toEqual({ how: "end" });
  expect(stream.events.filter(({ event }) => event === "close")).toEqual([]);
  expect(retriesOf(stream)).toHaveLength(2);
}

function retriesOf(stream: EventStream): number[] {
  return stream.items.flatMap((item) => (item.kind === "retry" ? [item.retryMs] : []));
}

test(`${verifies("D-02", "S-01")}SIGTERM with 50 calls in flight: each result arrives, here or after the restart`, async () => {
  const server = await remoteServer();
  const directory = scratchDirectory();
  const args = ["serve", "--drain-timeout", "60s", ...server.command];
  const gateway = await startGateway(args, directory);
  const calls: { session: RawSession; n: number; stream: EventStream; first: string }[] = [];
  const standalone: EventStream[] = [];
  for (const s of idsOf(5)) {
    const session = await openSession(gateway.url);
    standalone.push(await session.get());
    for (const c of idsOf(10)) {
      const n = s * 10 + c;
      const stream = await session.request("slow", { n });
      const { id = "" } = await stream.nextEvent();
      calls.push({ session, n, stream, first: id });
    }
  }
  await server.hasBegun(50);
  const cut = calls.filter(({ n }) => n % 2 === 1);
  for (const { stream } of cut) stream.destroy("rst");

  const beganMs = performance.now();
  gateway.signal("SIGTERM");
  await gateway.line(/draining: 50 calls in flight/);
  for (const stream of standalone) await expectLetGo(stream);
  await expectDraining(await initialize(gateway.url));
  const [{ session, first } = { session: undefined, first: "" }] = cut;
  if (session === undefined) throw new Error("no call was cut");
  await expectDraining(await session.request("slow", { n: -1 }));
  const resumed = await session.get({ lastEventId: first });
  expect(resumed.status).toBe(200);
  server.release();
  expect((await resumed.response()).result).toEqual({ n: 1 });
  for (const { n, stream } of calls.filter(({ n }) => n % 2 === 0)) {
    expect((await stream.response()).result).toEqual({ n });
    await stream.rest();
    expect(await stream.ended).toEqual({ how: "end" });
    expect(stream.events.filter(({ event }) => event === "close")).toEqual([]);
  }
  expect(await within(gateway.exited, "the exit")).toEqual({ code: 0, signal: null });
  expect(performance.now() - beganMs).toBeLessThan(60_000);
  await server.gone();

  const next = await startGateway(args, directory);
  for (const { session, n, first } of calls) {
    const again = await resume(next, session, first);
    expect((await again.response()).result).toEqual({ n });
    await again.rest();
    expect(again.messages).toHaveLength(1);
  }
  // No call ran a second time.
  expect(server.begun).toBe(50);
});

test(`${verifies("D-02", "X-05")}at the deadline it ends; what still ran has an unknown outcome`, async () => {
  const server = await remoteServer({ isDeaf: true });
  const directory = scratchDirectory();
  const args = ["serve", "--drain-timeout", "1s", ...server.command];
  const gateway = await startGateway(args, directory);
  const session = await openSession(gateway.url);
  const call = await session.request("slow", { n: 1 });
  await server.hasBegun(1);
  const exit = await gateway.kill("SIGTERM");
  expect(exit).toEqual({ code: 0, signal: null });
  expect(gateway.stderr).toContain("closing with 1 calls that still run");
  expect(gateway.stderr).toContain("closing takes too long");
  await expectLetGo(call);
  await server.gone();
  const next = await startGateway(args, directory);
  const answer = await (await resume(next, session, cursorOf(call))).response();
  expect(answer.error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", reason: "process-restarted", method: "slow" },
  });
});

test(`${verifies("D-02", "c054")}idle readers, a reader that never reads, a kept connection: none holds it up`, async () => {
  const server = await remoteServer();
  const args = ["serve", "--drain-timeout", "5s", "--retry", "1s", ...server.command];
  const gateway = await startGateway(args);
  const idle: EventStream[] = [];
  for (const _ of idsOf(10)) idle.push(await (await openSession(gateway.url)).get());
  const session = await openSession(gateway.url);
  const call = await session.request("slow", { n: 1 });
  await server.hasBegun(1);
  const deaf = await (await openSession(gateway.url)).request("flood", { mb: 24 });
  deaf.pause();
  const { port } = new URL(gateway.url);
  const kept = connect(Number(port), "127.0.0.1");
  onDispose(() => void kept.destroy());
  kept.write("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [answer] = await within(once(kept, "data"), "an answer");
  expect(String(answer)).toMatch(/^HTTP\/1.1 400 .*\r\nconnection: keep-alive/is);
  const keptGone = once(kept, "close");

  gateway.signal("SIGTERM");
  for (const stream of idle) await expectLetGo(stream);
  const waits = idle.map((stream) => retriesOf(stream).at(-1) ?? 0);
  // Jittered: not below what was promised, and not all at once.
  for (const ms of waits) expect(ms).toBeGreaterThanOrEqual(1000);
  for (const ms of waits) expect(ms).toBeLessThanOrEqual(2000);
  expect(new Set(waits).size).toBeGreaterThan(1);
  await expectDraining(await initialize(gateway.url));
  server.release();
  expect((await call.response()).result).toEqual({ n: 1 });
  expect(await within(gateway.exited, "the exit")).toEqual({ code: 0, signal: null });
  await within(keptGone, "the end of the kept connection");
  await server.gone();
});

test(`${verifies("D-02", "S-07")}a second signal ends it at once, and what was acknowledged is there`, async () => {
  const server = await remoteServer();
  const directory = scratchDirectory();
  const args = ["serve", "--drain-timeout", "10m", ...server.command];
  const gateway = await startGateway(args, directory);
  const session = await openSession(gateway.url);
  const done = await session.request("slow", { n: 1 });
  await server.hasBegun(1);
  server.release();
  await done.response();
  const running = await session.request("slow", { n: 2 });
  await server.hasBegun(2);
  gateway.signal("SIGINT");
  await gateway.line(/draining: 1 calls in flight; another signal ends it at once/);
  const again = setInterval(() => gateway.signal("SIGTERM"), 50);
  const exit = await within(gateway.exited, "the exit").finally(() => clearInterval(again));
  expect(exit).toEqual({ code: 143, signal: null });
  await server.gone();
  const next = await startGateway(args, directory);
  const first = done.events[0]?.id ?? "";
  expect((await (await resume(next, session, first)).response()).result).toEqual({ n: 1 });
  const unknown = await (await resume(next, session, cursorOf(running))).response();
  expect(unknown.error).toMatchObject({ code: -32011, data: { reason: "process-restarted" } });
});
