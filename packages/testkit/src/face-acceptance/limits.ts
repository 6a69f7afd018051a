/** Chapter: how much there may be at once; at a limit what is new is refused, nothing old goes. */
import { expect, test } from "vitest";
import { type EventStream, openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import { within } from "../wait-for.ts";
import type { Bench, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal } from "./checks.ts";
import type { LogGate } from "./face.ts";
import { as, authenticateByName, keyed, runsOf } from "./keyed.ts";
import { door } from "./traffic.ts";

export function limitsChapter(open: OpenBench): void {
  sessions(open);
  calls(open);
  keys(open);
  viewports(open);
}

const overloaded = { status: 503, code: -32000, type: "overloaded", data: { notRun: true } };
const rateLimited = { status: 429, code: -32000, type: "rate-limited", data: { notRun: true } };

function initialize(
  bench: Bench,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  return openEventStream({
    ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
    headers: { accept: acceptBoth, "content-type": "application/json", ...headers },
  });
}

/** How many of these were answered with each status. */
function tallyOf(streams: readonly EventStream[]): Record<number, number> {
  const tally: Record<number, number> = {};
  for (const { status } of streams) tally[status] = (tally[status] ?? 0) + 1;
  return tally;
}

/** Keeps calls from the log until they are released; births of sessions pass. */
function holdOpenings(): { readonly gate: LogGate; release(): void } {
  const released = door();
  const beforeCommit: LogGate["beforeCommit"] = (ops) => {
    const names = ops.map(({ op }) => op);
    return names.includes("open") && !names.includes("create") ? released.passed : undefined;
  };
  return { gate: { beforeCommit }, release: released.open };
}

/** Wait until so many of these were answered. */
async function answered(posted: readonly Promise<unknown>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>();
  let left = count;
  for (const answer of posted) {
    void answer.then(() => {
      left -= 1;
      if (left === 0) enough.resolve();
    });
  }
  await within(enough.promise, `${count} answers`);
}

function sessions(open: OpenBench): void {
  test(`${verifies("P-02", "D-03", "c022", "c024")}one session more than there may be is refused, none is evicted`, async () => {
    const bench = await open({ options: { sessionsMax: 2 } });
    const first = await bench.session();
    const second = await bench.session();
    for (let round = 0; round < 2; round++) {
      await expectRefusal(await initialize(bench), { ...overloaded, id: 0 });
    }
    await expectAlive(first);
    await expectAlive(second);
    // The limit is of sessions, not of processes.
    await bench.restart("close");
    await expectRefusal(await initialize(bench), { ...overloaded, id: 0 });
    await expectEmpty(await first.delete(), 204);
    await expectAlive(await bench.session());
    await expectRefusal(await initialize(bench), { ...overloaded, id: 0 });
    await expectAlive(second);
  });

  test(`${verifies("P-02", "c022")}of many at the same instant as many are taken as there is room for`, async () => {
    const bench = await open({ options: { sessionsMax: 3 } });
    const streams = await Promise.all(Array.from({ length: 12 }, () => initialize(bench)));
    expect(tallyOf(streams)).toEqual({ 200: 3, 503: 9 });
    expect(bench.upstreams.all).toHaveLength(3);
  });

  test(`${verifies("P-02", "D-04")}one principal's limit is told as its own, and is no other's`, async () => {
    const options = { sessionsPerPrincipalMax: 2, sessionsMax: 4 };
    const bench = await open({ authenticate: authenticateByName, options });
    const streams = await Promise.all(
      Array.from({ length: 8 }, () => initialize(bench, as("ann"))),
    );
    expect(tallyOf(streams)).toEqual({ 200: 2, 429: 6 });
    await expectRefusal(await initialize(bench, as("ann.refreshed")), { ...rateLimited, id: 0 });
    const bob = await bench.session({ headers: as("bob") });
    await expectAlive(bob);
    await bench.session({ headers: as("eve") });
    // The server's own limit comes first.
    await expectRefusal(await initialize(bench, as("ann")), { ...overloaded, id: 0 });
  });

  test(`${verifies("P-02")}without principals there is no limit for each`, async () => {
    const bench = await open({ options: { sessionsPerPrincipalMax: 1 } });
    await expectAlive(await bench.session());
    await expectAlive(await bench.session());
  });
}

function calls(open: OpenBench): void {
  test(`${verifies("P-02", "D-03")}one call more than a session may have is refused, what runs goes on`, async () => {
    const bench = await open({ options: { callsPerSessionMax: 2 } });
    const session = await bench.session();
    const other = await bench.session();
    const streams = [
      await session.call("a", {}, { id: 1 }),
      await session.call("b", {}, { id: 2 }),
    ];
    const running = [
      await session.upstream.request("tools/call"),
      await session.upstream.request("tools/call"),
    ];
    await expectRefusal(await session.call("c", {}, { id: 3 }), { ...rateLimited, id: 3 });
    await expectRefusal(await keyed(session, "c", { id: 4 }), { ...rateLimited, id: 4 });
    // What is no call is taken all the same.
    await expectEmpty(await session.notify("notifications/x"), 202);
    await expectAlive(other);
    running[0]?.answer({});
    await streams[0]?.body();
    const third = await session.call("d", {}, { id: 5 });
    expect(third.status).toBe(200);
    running[1]?.answer({});
    expect((await streams[1]?.response(2))?.result).toEqual({});
  });

  test(`${verifies("P-02")}of many calls at the same instant no more run than may`, async () => {
    const { gate, release } = holdOpenings();
    const bench = await open({ options: { callsPerSessionMax: 3 }, logGate: gate });
    const session = await bench.session();
    const ids = Array.from({ length: 12 }, (_, index) => index + 1);
    const posted = ids.map((id) => session.call("t", {}, { id }));
    // All those that are refused are refused before any of the others is in the log.
    await answered(posted, 9);
    release();
    expect(tallyOf(await Promise.all(posted))).toEqual({ 200: 3, 429: 9 });
  });

  test(`${verifies("P-02", "E-01")}an array counts by its calls, and as one stream`, async () => {
    const options = { callsPerSessionMax: 4, streamsPerSessionMax: 2 };
    const bench = await open({ options });
    const session = await bench.session({ version: "2025-03-26" });
    const call = (id: number) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t" } },
    });
    expect((await session.post([call(1), call(2), call(3)])).status).toBe(200);
    await expectRefusal(await session.post([call(4), call(5)]), rateLimited);
    expect((await session.post(call(4))).status).toBe(200);
    await expectRefusal(await session.post(call(5)), { ...rateLimited, id: 5 });
  });

  test(`${verifies("P-02")}a session has so many streams of calls, and a standalone one besides`, async () => {
    const { gate, release } = holdOpenings();
    const bench = await open({ options: { streamsPerSessionMax: 2 }, logGate: gate });
    const session = await bench.session();
    const posted = [1, 2, 3, 4, 5, 6].map((id) => session.call("t", {}, { id }));
    await answered(posted, 4);
    release();
    const streams = await Promise.all(posted);
    expect(tallyOf(streams)).toEqual({ 200: 2, 429: 4 });
    expect((await session.get()).status).toBe(200);
    const call = await session.upstream.request("tools/call");
    call.answer({});
    await session.upstream.request("tools/call");
    const first = streams.find(({ status }) => status === 200);
    await first?.body();
    expect((await session.call("t", {}, { id: 7 })).status).toBe(200);
  });
}

function keys(open: OpenBench): void {
  test(`${verifies("P-02", "X-03", "D-03")}when the keys that are kept are as large as they may be, new ones are refused, and no kept one is forgotten`, async () => {
    const bench = await open({ options: { ledgerBytesMax: 1 } });
    const session = await bench.session();
    const first = await keyed(session, "pay", { id: 1 });
    (await session.upstream.request("tools/call")).answer({ paid: 1 });
    await first.body();
    const refused = await keyed(session, "pay", { id: 2, key: "another-of-16-chars" });
    await expectRefusal(refused, { ...overloaded, id: 2 });
    const again = await keyed(session, "pay", { id: 3 });
    expect((await again.response(3)).result).toEqual({ paid: 1 });
    // Without a key, and after the restart of the server.
    await bench.restart("close");
    await expectAlive(session);
    const late = await keyed(session, "pay", { id: 4, key: "another-of-16-chars" });
    await expectRefusal(late, { ...overloaded, id: 4 });
    expect(runsOf(bench.upstreams, "pay")).toBe(1);
  });
}

function viewports(open: OpenBench): void {
  test(`${verifies("P-02", "D-03")}one open response more than there may be is refused, none is closed`, async () => {
    const bench = await open({ options: { viewportsMax: 2 } });
    const session = await bench.session();
    const other = await bench.session();
    const standalone = await session.get();
    const call = await session.call("t", {}, { id: 1 });
    const running = await session.upstream.request("tools/call");
    const { data: _, ...noCall } = overloaded;
    await expectRefusal(await other.get(), noCall);
    await expectRefusal(await other.call("t", {}, { id: 2 }), { ...overloaded, id: 2 });
    await expectRefusal(await initialize(bench), { ...overloaded, id: 0 });
    // What needs no response of its own goes on.
    await expectEmpty(await other.notify("notifications/x"), 202);
    running.answer({});
    await call.body();
    expect((await other.get()).status).toBe(200);
    session.upstream.say({ method: "notifications/tools/list_changed" });
    await standalone.nextMessage();
  });
}
