/** Chapter: a server that is about to stop takes nothing new, and lets what runs come to its end. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectEmpty, expectRefusal, primed } from "./checks.ts";

const draining = { status: 503, code: -32000, type: "draining", data: { notRun: true } };

export function drainChapter(open: OpenBench): void {
  test(`${verifies("D-02", "D-03", "X-06")}new work is refused; resumes, answers and cancellations pass`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const stream = await session.call("slow", {}, { id: 1 });
    const lastEventId = await primed(stream);
    const call = await session.upstream.request("tools/call");
    const other = await session.call("other", {}, { id: 2 });
    await session.upstream.request("tools/call");
    const drained = bench.drain(60_000);
    await standalone.rest();
    expect(standalone.events.filter(({ event }) => event === "close")).toEqual([]);
    expect(standalone.items.filter(({ kind }) => kind === "retry")).toHaveLength(2);

    await expectRefusal(await session.call("new", {}, { id: 3 }), { ...draining, id: 3 });
    const initialize = await openEventStream({
      ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
      headers: { accept: acceptBoth, "content-type": "application/json" },
    });
    await expectRefusal(initialize, { ...draining, id: 0 });
    session.upstream.emit('{"jsonrpc":"2.0","id":"q","method":"roots/list"}', call.id);
    const question = await stream.nextMessage(({ method }) => method === "roots/list");
    stream.destroy("rst");
    const resumed = await session.get({ lastEventId });
    const answer = { jsonrpc: "2.0", id: question.id, result: { roots: [] } };
    await expectEmpty(await session.post(answer), 202);
    await session.upstream.take(({ id, method }) => id === "q" && method === undefined);
    await expectEmpty(await session.notify("notifications/cancelled", { requestId: 2 }), 202);
    await other.body();
    call.answer({ done: true });
    expect((await resumed.response(1)).result).toEqual({ done: true });
    await resumed.rest();
    expect(resumed.events.filter(({ event }) => event === "close")).toEqual([]);
    expect(await drained).toBe(0);
  });

  test(`${verifies("D-02", "X-05")}at the deadline it says how many calls still run`, async () => {
    const bench = await open();
    const session = await bench.session();
    await session.call("slow", {}, { id: 1 });
    await session.upstream.request("tools/call");
    expect(await bench.drain(10)).toBe(1);
  });
}
