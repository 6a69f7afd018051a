/** Chapter: an event log that does not take writes for a while; what was computed is not lost. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed, replayed } from "./checks.ts";
import { expectOutcomeUnknown, keyed, listTools, runsOf } from "./keyed.ts";
import { numbersIn, openCall, range, sayNotes } from "./traffic.ts";

const unavailable = {
  ...{ status: 503, code: -32000, type: "store-unavailable" },
  data: { notRun: true },
};

const whens = ["before", "after"] as const;

/** A log that fails its next commits, before or after they took effect; of one kind, if that is set. */
function failing() {
  const state = { before: 0, after: 0, op: undefined as string | undefined };
  const fail = (when: "before" | "after") => async (ops: readonly { readonly op: string }[]) => {
    if (state[when] <= 0) return;
    if (state.op !== undefined && !ops.some(({ op }) => op === state.op)) return;
    state[when] -= 1;
    throw new Error("the disk is full");
  };
  return { state, gate: { beforeCommit: fail("before"), afterCommit: fail("after") } };
}

export function storeFailuresChapter(open: OpenBench): void {
  refusals(open);
  lateEvents(open);
  lostOpenings(open);
  neverHealed(open);
}

/** The session's commits go through again. */
function healed(bench: Bench, { tag }: BenchSession): Promise<unknown> {
  return bench.logged(({ facts, message }) => {
    const isOfSession = "session" in facts && facts.session === tag;
    return isOfSession && message === "the event log takes writes again";
  });
}

function refusals(open: OpenBench): void {
  test(`${verifies("P-02", "D-03", "c043")}a call that the log does not take did not run, and says so`, async () => {
    const { state, gate } = failing();
    const bench = await open({ logGate: gate });
    const session = await bench.session();
    await expectAlive(session);
    state.before = 1;
    await expectRefusal(await session.call("t", {}, { id: 3 }), { ...unavailable, id: 3 });
    state.before = 1;
    const initialize = await openEventStream({
      ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
      headers: { accept: acceptBoth, "content-type": "application/json" },
    });
    await expectRefusal(initialize, { ...unavailable, id: 0 });
    await expectAlive(session);
    const methods = bench.upstreams.all.flatMap(({ arrivals }) =>
      arrivals.map((arrival) => arrival.message.method),
    );
    expect(methods).not.toContain("tools/call");
  });
}

function lateEvents(open: OpenBench): void {
  for (const when of whens) {
    test(`${verifies("E-03", "E-08", "c043")}events and result come once, in order, though commits failed (${when} they took effect)`, async () => {
      const { state, gate } = failing();
      const bench = await open({ logGate: gate });
      const session = await bench.session();
      const stream = await session.call("t", {}, { id: 1 });
      const cursor = await primed(stream);
      const call = await session.upstream.request("tools/call");
      state[when] = 3;
      sayNotes(session.upstream, 1, 5);
      call.answer({ done: true });
      // Shown only once it is in the log.
      expect((await stream.response(1)).result).toEqual({ done: true });
      await stream.body();
      expect(numbersIn(stream.items)).toEqual(range(1, 5));
      expect(await replayed(session, cursor)).toHaveLength(6);
      expect(state[when]).toBe(0);
      await expectAlive(session);
    });
  }

  for (const when of whens) {
    test(`${verifies("X-06", "E-03", "c043")}a question is asked once, and its answer is taken, though its commit failed (${when} it took effect)`, async () => {
      const { state, gate } = failing();
      const bench = await open({ logGate: gate });
      const session = await bench.session();
      const { stream, call } = await openCall(session, { id: 1 });
      const cursor = await primed(stream);
      state[when] = 2;
      session.upstream.say({ id: 7, method: "roots/list" });
      const question = await stream.nextMessage();
      const answer = { jsonrpc: "2.0", id: question.id, result: { roots: [] } };
      await expectEmpty(await session.post(answer), 202);
      const arrived = await session.upstream.take(({ id, method }) => id === 7 && !method);
      expect(arrived.message.result).toEqual({ roots: [] });
      call.answer({});
      await stream.body();
      expect(await replayed(session, cursor)).toHaveLength(2);
      expect(state[when]).toBe(0);
    });

    test(`${verifies("E-08", "c043")}progress is shown once, in order, though its commit failed (${when} it took effect)`, async () => {
      const { state, gate } = failing();
      const bench = await open({ logGate: gate });
      const session = await bench.session();
      const { stream, call } = await openCall(session, { id: 1, progressToken: "p" });
      state[when] = 1;
      for (const progress of [1, 2]) call.progress(progress);
      for (const progress of [1, 2]) {
        const message = await stream.nextMessage();
        expect(message.params).toMatchObject({ progressToken: "p", progress });
      }
      call.answer({});
      await stream.body();
      expect(stream.messages).toHaveLength(3);
    });
  }
}

/** [C D-03] "a refusal of a POST that certainly did not run says so": its key is free then. */
function lostOpenings(open: OpenBench): void {
  for (const when of whens) {
    test(`${verifies("X-03", "D-03", "c043")}a keyed call that the log did not take runs when it is asked again, once (failed ${when} it took effect)`, async () => {
      const { state, gate } = failing();
      const bench = await open({ logGate: gate, options: { sharesKeys: true } });
      const session = await bench.session();
      const other = await bench.session();
      state[when] = 1;
      await expectRefusal(await keyed(session, "pay", { id: 1 }), { ...unavailable, id: 1 });
      // Wherever it is asked again.
      const again = await keyed(other, "pay", { id: 2 });
      const call = await other.upstream.request("tools/call");
      const third = await keyed(session, "pay", { id: 3 });
      call.answer({ paid: 1 });
      expect((await again.response(2)).result).toEqual({ paid: 1 });
      expect((await third.response(3)).result).toEqual({ paid: 1 });
      expect(runsOf(bench.upstreams, "pay")).toBe(1);
      await expectAlive(session);
    });
  }

  test(`${verifies("X-03", "D-03", "c043")}while the log is away a key that it may hold is refused, and runs once it is back`, async () => {
    const { state, gate } = failing();
    const bench = await open({ logGate: gate });
    const session = await bench.session();
    Object.assign(state, { after: 3, op: "open" });
    await expectRefusal(await keyed(session, "pay", { id: 1 }), { ...unavailable, id: 1 });
    await expectRefusal(await keyed(session, "pay", { id: 2 }), { ...unavailable, id: 2 });
    await healed(bench, session);
    const stream = await keyed(session, "pay", { id: 3 });
    (await session.upstream.request("tools/call")).answer({ paid: 1 });
    expect((await stream.response(3)).result).toEqual({ paid: 1 });
    expect(runsOf(bench.upstreams, "pay")).toBe(1);
  });

  test(`${verifies("X-05", "S-07", "c043")}what was refused and may be in the log is closed by the next process`, async () => {
    const { state, gate } = failing();
    const bench = await open({ logGate: gate });
    listTools(bench.upstreams);
    const session = await bench.session();
    state.after = Number.POSITIVE_INFINITY;
    await expectRefusal(await keyed(session, "pay", { id: 1 }), { ...unavailable, id: 1 });
    await bench.restart("crash", { logGate: {} });
    await expectOutcomeUnknown(await keyed(session, "pay", { id: 2 }), "process-restarted");
    expect(runsOf(bench.upstreams, "pay")).toBe(0);
  });
}

function neverHealed(open: OpenBench): void {
  test(`${verifies("X-05", "E-03", "D-03", "c043")}a result that cannot be stored: its caller is told so in time, and finds it when it can`, async () => {
    const { state, gate } = failing();
    const bench = await open({ logGate: gate, options: { storePatienceMs: 50 } });
    const session = await bench.session();
    const other = await bench.session();
    const { stream, call } = await openCall(session, { id: 1 });
    const cursor = await primed(stream);
    state.before = Number.POSITIVE_INFINITY;
    call.answer({ done: true });
    await expectOutcomeUnknown(stream, "unreachable", { method: "tools/call" });
    // No event of the log: the cursor of the reader has not moved.
    expect(stream.lastEventId).toBe(cursor);
    await bench.logged(({ level, message }) => level === "error" && /still takes no/.test(message));
    await expectRefusal(await session.call("t", {}, { id: 2 }), { ...unavailable, id: 2 });
    await expectRefusal(await other.call("t", {}, { id: 3 }), { ...unavailable, id: 3 });
    // Who comes back is told again: nobody waits for ever.
    const resumed = await session.get({ lastEventId: cursor });
    await expectOutcomeUnknown(resumed, "unreachable");

    state.before = 0;
    await healed(bench, session);
    const found = await session.get({ lastEventId: cursor });
    expect((await found.response(1)).result).toEqual({ done: true });
    await found.body();
    expect(found.messages).toHaveLength(1);
    await expectAlive(session);
  });
}
