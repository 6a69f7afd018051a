/** Chapter: what was running when the process died; each call ends, exactly once. */
import { expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, primed, replayed } from "./checks.ts";
import type { LogGate, Stop } from "./face.ts";
import { expectOutcomeUnknown } from "./keyed.ts";
import { door } from "./traffic.ts";

export function outcomesChapter(open: OpenBench): void {
  for (const stop of ["close", "crash"] as const) unknowns(open, stop);
  races(open);
  arrays(open);
}

function unknowns(open: OpenBench, stop: Stop): void {
  test(`${verifies("X-05", "S-07", "c051")}after a ${stop} each call that ran has one unknown outcome, with these facts`, async () => {
    const bench = await open();
    const session = await bench.session();
    const charge = await session.call("charge", {}, { id: 7, progressToken: 1 });
    const read = await session.request("resources/read", { uri: "file:///a" }, { id: "7" });
    const list = await session.request("prompts/list", undefined, { id: 8 });
    const cursors = [await primed(charge), await primed(read), await primed(list)];
    const call = await session.upstream.request("tools/call");
    call.progress(1);
    await charge.nextMessage();
    const beforeMs = Date.now();
    await bench.restart(stop);

    const expected = [
      { requestId: 7, method: "tools/call", name: "charge" },
      { requestId: "7", method: "resources/read", name: "file:///a" },
      { requestId: 8, method: "prompts/list" },
    ];
    for (const [index, lastEventId] of cursors.entries()) {
      for (let round = 0; round < 2; round++) {
        const texts = await replayed(session, lastEventId);
        const { id, error } = JSON.parse(texts.at(-1) ?? "");
        expect(texts).toHaveLength(index === 0 ? 2 : 1);
        const { startedAt, ...data } = error.data;
        const call = expected[index];
        expect(data).toEqual({ type: "outcome-unknown", ...call, reason: "process-restarted" });
        expect({ id, code: error.code }).toEqual({ id: call?.requestId, code: -32011 });
        expect(Date.parse(startedAt)).toBeGreaterThan(beforeMs - 60_000);
        expect(Date.parse(startedAt)).toBeLessThanOrEqual(beforeMs);
      }
    }
    // Nothing is run again by itself, and what the dead server still says is not heard.
    expect(bench.upstreams.all).toHaveLength(1);
    call.answer({ late: true });
    await expectAlive(session);
    expect(await replayed(session, cursors[0] ?? "")).toHaveLength(2);
    await bench.restart(stop);
    expect(await replayed(session, cursors[0] ?? "")).toHaveLength(2);
  });
}

/** Holds what the runtime is told of a commit that appends a response; a crash comes first. */
function holdResponses(): { readonly gate: LogGate; readonly held: Promise<void> } {
  const held = door();
  const isResponse = (op: { readonly op: string }) => "kind" in op && op.kind === "response";
  const afterCommit: LogGate["afterCommit"] = async (ops) => {
    if (!ops.some(isResponse) || ops.some(({ op }) => op === "create")) return;
    held.open();
    await new Promise<never>(() => {});
  };
  return { gate: { afterCommit }, held: held.passed };
}

function races(open: OpenBench): void {
  test(`${verifies("X-05", "S-07")}a result that is in the log wins, though nobody was told of it`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { gate, held } = holdResponses();
    await bench.restart("close", { logGate: gate });
    const stream = await session.call("charge", {}, { id: 1 });
    const cursor = await primed(stream);
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("tools/call")).answer({ charged: 1 });
    await held;
    await bench.restart("crash", { logGate: {} });
    const [text = "", ...more] = await replayed(session, cursor);
    expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id: 1, result: { charged: 1 } });
    expect(more).toEqual([]);
  });

  test(`${verifies("X-05", "X-03")}effect done but result not logged before the crash: unknown, never a second run`, async () => {
    const isStopped = door();
    const beforeCommit: LogGate["beforeCommit"] = async (ops) => {
      if (!ops.some((op) => "kind" in op && op.kind === "response")) return;
      isStopped.open();
      await new Promise<never>(() => {});
    };
    const bench = await open();
    const session = await bench.session();
    await bench.restart("close", { logGate: { beforeCommit } });
    const headers = { "idempotency-key": "key" };
    const stream = await session.call("charge", {}, { id: 1, headers });
    const cursor = await primed(stream);
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("tools/call")).answer({ charged: 1 });
    await isStopped.passed;
    await bench.restart("crash", { logGate: {} });
    const [text = ""] = await replayed(session, cursor);
    expect(JSON.parse(text)).toMatchObject({ id: 1, error: { code: -32011 } });
    const again = session.call("charge", {}, { id: 2, headers });
    const next = await bench.upstreams.of(session.tag);
    (await next.request("tools/list")).answer({ tools: [{ name: "charge" }] });
    await expectOutcomeUnknown(await again, "process-restarted", { requestId: 2, name: "charge" });
    const ran = bench.upstreams.all.flatMap(({ arrivals }) =>
      arrivals.filter(({ message }) => message.method === "tools/call"),
    );
    expect(ran).toHaveLength(1);
  });

  test(`${verifies("X-05")}many streams at once: none is left open, each says its own`, async () => {
    const bench = await open();
    const session = await bench.session();
    const ids = Array.from({ length: 30 }, (_, index) => index + 1);
    const cursors = await Promise.all(
      ids.map(async (id) => primed(await session.call("charge", {}, { id }))),
    );
    for (const _ of ids) await session.upstream.request("tools/call");
    await bench.restart("crash");
    const outcomes = await Promise.all(cursors.map((cursor) => replayed(session, cursor)));
    for (const [index, texts] of outcomes.entries()) {
      expect(texts).toHaveLength(1);
      expect(JSON.parse(texts[0] ?? "")).toMatchObject({ id: ids[index], error: { code: -32011 } });
    }
  });
}

function arrays(open: OpenBench): void {
  test(`${verifies("X-05", "E-01")}of an array what was answered stays, the rest is unknown`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    const call = (id: number) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call", params: { name: `t${id}` } },
    });
    const stream = await session.post([call(1), call(2), call(3)]);
    const calls = [1, 2, 3].map(() => session.upstream.request("tools/call"));
    const [, second] = await Promise.all(calls);
    second?.answer({ two: 2 });
    await stream.response(2);
    const cursor = stream.lastEventId ?? "";
    await bench.restart("crash");
    const texts = await replayed(session, cursor);
    expect(texts.map((text) => JSON.parse(text))).toMatchObject([
      { id: 1, error: { code: -32011, data: { requestId: 1, name: "t1" } } },
      { id: 3, error: { code: -32011, data: { requestId: 3, name: "t3" } } },
    ]);
  });
}
