/** Chapter: keys whose call died, keys whose time is over, and tools that may run again. */
import { expect, test } from "vitest";
import { fakeClock } from "../fake-clock.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import {
  as,
  authenticateByName,
  expectOutcomeUnknown,
  key,
  keyed,
  listTools,
  runsOf,
} from "./keyed.ts";
import { door } from "./traffic.ts";

export function keyOutcomesChapter(open: OpenBench): void {
  unknowns(open);
  repeatables(open);
  restarts(open);
  lifetimes(open);
}

function unknowns(open: OpenBench): void {
  test(`${verifies("X-03", "X-05", "c021")}a key whose call died says so, and never runs again`, async () => {
    const bench = await open();
    listTools(bench.upstreams);
    const session = await bench.session();
    const first = await keyed(session, "charge", { id: 1 });
    await session.upstream.request("tools/call");
    const attached = await keyed(session, "charge", { id: 2 });
    session.upstream.die();
    const call = { method: "tools/call", name: "charge" };
    await expectOutcomeUnknown(first, "upstream-exited", { requestId: 1, ...call });
    await expectOutcomeUnknown(attached, "upstream-exited", { requestId: 2, ...call });
    const startedAt = first.messages[0]?.error?.data?.["startedAt"];
    for (const id of [3, "3"]) {
      const again = await keyed(session, "charge", { id });
      // When the one call that ran was started, whoever asks.
      await expectOutcomeUnknown(again, "upstream-exited", { requestId: id, ...call, startedAt });
    }
    expect(runsOf(bench.upstreams, "charge")).toBe(1);
  });
}

function repeatables(open: OpenBench): void {
  const tool = (name: string, annotations?: object) => ({
    ...{ name, inputSchema: { type: "object" } },
    ...(annotations && { annotations }),
  });

  test(`${verifies("X-03", "X-05")}a tool that is annotated read-only or idempotent runs again, no other`, async () => {
    const bench = await open();
    const seen = listTools(bench.upstreams, [
      [tool("read", { readOnlyHint: true }), tool("plain")],
      [tool("put", { idempotentHint: true }), tool("no", { readOnlyHint: false, title: "No" })],
      [tool("odd", { readOnlyHint: "yes", idempotentHint: 1 })],
    ]);
    let session = await bench.session();
    let { upstream } = session;
    for (const name of ["read", "put", "plain", "no", "odd", "unlisted"]) {
      const first = await keyed(session, name, { id: 1, key: `${key}-${name}` });
      await upstream.request("tools/call");
      upstream.die();
      await expectOutcomeUnknown(first, "upstream-exited");
      const again = await keyed(session, name, { id: 2, key: `${key}-${name}` });
      upstream = await bench.upstreams.of(session.tag);
      const isRepeated = name === "read" || name === "put";
      if (isRepeated) {
        (await upstream.request("tools/call")).answer({ again: true });
        expect((await again.response()).result).toEqual({ again: true });
        const third = await keyed(session, name, { id: 3, key: `${key}-${name}` });
        expect((await third.response()).result).toEqual({ again: true });
      } else {
        await expectOutcomeUnknown(again, "upstream-exited", { requestId: 2 });
      }
      expect(runsOf(bench.upstreams, name)).toBe(isRepeated ? 2 : 1);
      session = await bench.session();
      upstream = session.upstream;
    }
    // Three pages for each session, once.
    expect(seen.lists).toBe(18);
  });

  test(`${verifies("X-05")}a change of the list is asked after, the list itself only once`, async () => {
    const bench = await open();
    const seen = listTools(bench.upstreams, [[tool("t", { readOnlyHint: true })]]);
    const session = await bench.session();
    let { upstream } = session;
    const lose = async (id: number) => {
      const stream = await keyed(session, "t", { id, key: `${key}${id}` });
      await upstream.request("tools/call");
      upstream.die();
      await expectOutcomeUnknown(stream, "upstream-exited");
    };
    const repeat = async (id: number) => {
      const stream = await keyed(session, "t", { id: 100, key: `${key}${id}` });
      upstream = await bench.upstreams.of(session.tag);
      return stream;
    };
    for (const id of [1, 2]) {
      await lose(id);
      const again = await repeat(id);
      (await upstream.request("tools/call")).answer({ id });
      expect((await again.response()).result).toEqual({ id });
    }
    expect(seen.lists).toBe(1);
    listTools(bench.upstreams, [[tool("t")]]);
    const standalone = await session.get();
    upstream.say({ method: "notifications/tools/list_changed" });
    await standalone.nextMessage();
    await lose(3);
    await expectOutcomeUnknown(await repeat(3), "upstream-exited", { requestId: 100 });
  });

  test(`${verifies("X-03", "X-05")}of several that would run it again at once, one does`, async () => {
    const bench = await open();
    listTools(bench.upstreams, [[tool("read", { readOnlyHint: true })]]);
    const session = await bench.session();
    const first = await keyed(session, "read", { id: 0 });
    await session.upstream.request("tools/call");
    session.upstream.die();
    await expectOutcomeUnknown(first, "upstream-exited");
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    const posted = ids.map((id) => keyed(session, "read", { id }));
    const upstream = await bench.upstreams.of(session.tag);
    const call = await upstream.request("tools/call");
    const streams = await Promise.all(posted);
    call.answer({ made: 1 });
    for (const [index, stream] of streams.entries()) {
      expect(await stream.response()).toMatchObject({ id: ids[index], result: { made: 1 } });
    }
    expect(runsOf(bench.upstreams, "read")).toBe(2);
  });

  test(`${verifies("X-05")}a request that only reads runs again without being annotated`, async () => {
    const bench = await open();
    const session = await bench.session();
    const headers = { "idempotency-key": key };
    const read = (id: number) =>
      session.request("resources/read", { uri: "file:///a" }, { id, headers });
    const first = await read(1);
    await session.upstream.request("resources/read");
    session.upstream.die();
    await expectOutcomeUnknown(first, "upstream-exited");
    const again = await read(2);
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("resources/read")).answer({ contents: [] });
    expect((await again.response()).result).toEqual({ contents: [] });
  });
}

function restarts(open: OpenBench): void {
  for (const stop of ["close", "crash"] as const) {
    test(`${verifies("X-03", "S-07", "c021")}after a ${stop} the answer of a key is still there, for every session`, async () => {
      const bench = await open({ authenticate: authenticateByName });
      const session = await bench.session({ headers: as("ann") });
      const first = await keyed(session, "create", { id: 1 });
      (await session.upstream.request("tools/call")).answer({ made: 1 });
      await first.body();
      await bench.restart(stop);
      const again = await keyed(session, "create", { id: 2 });
      expect(await again.response()).toMatchObject({ id: 2, result: { made: 1 } });
      const other = await bench.session({ headers: as("ann") });
      const third = await keyed(other, "create", { id: 3 });
      expect(await third.response()).toMatchObject({ id: 3, result: { made: 1 } });
      const changed = await keyed(other, "create", { id: 4, args: { n: 1 } });
      expect(changed.status).toBe(422);
      expect(runsOf(bench.upstreams, "create")).toBe(1);
    });

    test(`${verifies("X-03", "X-05")}after a ${stop} a key whose call ran is unknown, asked from any session`, async () => {
      const bench = await open({ authenticate: authenticateByName });
      listTools(bench.upstreams);
      const session = await bench.session({ headers: as("ann") });
      await keyed(session, "charge", { id: 1 });
      await session.upstream.request("tools/call");
      await bench.restart(stop);
      // Nobody has asked for the session of the call yet.
      const other = await bench.session({ headers: as("ann") });
      const again = await keyed(other, "charge", { id: 2 });
      await expectOutcomeUnknown(again, "process-restarted", { requestId: 2, name: "charge" });
      const third = await keyed(session, "charge", { id: 3 });
      await expectOutcomeUnknown(third, "process-restarted", { requestId: 3, name: "charge" });
      expect(runsOf(bench.upstreams, "charge")).toBe(1);
    });
  }

  test(`${verifies("X-03", "X-05")}key claimed but call not delivered before the crash: it never runs`, async () => {
    const claimed = door();
    const afterCommit = async (ops: readonly { readonly op: string }[]) => {
      const isCall = ops.some((op) => op.op === "open" && !ops.some((o) => o.op === "create"));
      if (!isCall) return;
      claimed.open();
      await new Promise<never>(() => {});
    };
    const bench = await open({ logGate: { afterCommit } });
    listTools(bench.upstreams);
    const session = await bench.session();
    const lost = keyed(session, "charge", { id: 1 }).catch(() => undefined);
    await claimed.passed;
    await bench.restart("crash", { logGate: {} });
    await lost;
    for (const id of [2, 3]) {
      const again = await keyed(session, "charge", { id });
      await expectOutcomeUnknown(again, "process-restarted", { requestId: id, name: "charge" });
    }
    const other = await keyed(session, "charge", { id: 4, args: { n: 1 } });
    expect(other.status).toBe(422);
    expect(runsOf(bench.upstreams, "charge")).toBe(0);
  });
}

function lifetimes(open: OpenBench): void {
  test(`${verifies("X-03")}a key is kept for its time after the call has ended, and not longer`, async () => {
    const clock = fakeClock();
    const bench = await open({ clock, options: { idempotencyTtlMs: 60_000 } });
    const session = await bench.session();
    const first = await keyed(session, "create", { id: 1 });
    const call = await session.upstream.request("tools/call");
    // While it runs, its time does not pass.
    clock.advance(120_000);
    const attached = await keyed(session, "create", { id: 2 });
    call.answer({ made: 1 });
    expect((await first.response()).result).toEqual({ made: 1 });
    expect((await attached.response()).result).toEqual({ made: 1 });
    clock.advance(59_000);
    const kept = await keyed(session, "create", { id: 3 });
    expect((await kept.response()).result).toEqual({ made: 1 });
    clock.advance(2_000);
    const anew = await keyed(session, "create", { id: 4, args: { n: 2 } });
    (await session.upstream.request("tools/call")).answer({ made: 2 });
    expect((await anew.response()).result).toEqual({ made: 2 });
  });
}
