/** Chapter: an event log that does not take writes for a while; what was computed is not lost. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal, primed, replayed } from "./checks.ts";
import { numbersIn, range, sayNotes } from "./traffic.ts";

const unavailable = {
  ...{ status: 503, code: -32000, type: "store-unavailable" },
  data: { notRun: true },
};

/** A log that fails its next commits, before or after they took effect. */
function failing() {
  const state = { before: 0, after: 0 };
  const fail = (when: "before" | "after") => async () => {
    if (state[when] <= 0) return;
    state[when] -= 1;
    throw new Error("the disk is full");
  };
  return { state, gate: { beforeCommit: fail("before"), afterCommit: fail("after") } };
}

export function storeFailuresChapter(open: OpenBench): void {
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

  for (const when of ["before", "after"] as const) {
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
}
