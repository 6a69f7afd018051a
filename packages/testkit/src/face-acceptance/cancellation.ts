/** Chapter: what cancels a request, and what never does. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, primed, replayed } from "./checks.ts";

export function cancellationChapter(open: OpenBench): void {
  cancelledStreams(open);
  lateAndFalse(open);
}

const cancel = (session: BenchSession, requestId: unknown, more: object = {}) =>
  session.notify("notifications/cancelled", { requestId, ...more });

/** The cancelled stream is over without a response, and its end answers 204. */
async function expectCancelled(session: BenchSession, stream: EventStream): Promise<void> {
  await stream.body();
  expect(stream.messages.filter(({ id }) => id !== undefined)).toEqual([]);
  await expectEmpty(await session.get({ lastEventId: stream.lastEventId ?? "" }), 204);
}

function cancelledStreams(open: OpenBench): void {
  test(`${verifies("X-01", "R-06")}a cancelled request's stream ends without a response`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("slow", {}, { id: "c", progressToken: "p" });
    const cursor = await primed(stream);
    const call = await session.upstream.request("tools/call");
    call.progress(1);
    await stream.nextMessage();
    await expectEmpty(await cancel(session, "c", { reason: "enough" }), 202);
    const { message } = await session.upstream.notification("notifications/cancelled");
    expect(message.params).toEqual({ requestId: call.id, reason: "enough" });
    await expectCancelled(session, stream);
    // What came before it is still told, and then that nothing more will come.
    expect(await replayed(session, cursor)).toHaveLength(1);
    // A late answer is nobody's.
    call.answer({ late: true });
    await expectAlive(session);
    await expectEmpty(await session.get({ lastEventId: stream.lastEventId ?? "" }), 204);
  });

  test(`${verifies("X-01", "R-06")}a request may be cancelled before its first event, or unattended`, async () => {
    const bench = await open();
    const session = await bench.session();
    const quiet = await session.call("slow", {}, { id: 1 });
    await primed(quiet);
    await session.upstream.request("tools/call");
    await cancel(session, 1);
    await expectCancelled(session, quiet);

    const cut = await session.call("slow", {}, { id: 2 });
    const cursor = await primed(cut);
    cut.destroy("rst");
    await session.upstream.request("tools/call");
    await cancel(session, 2);
    await session.upstream.notification("notifications/cancelled");
    const resumed = await session.get({ lastEventId: cursor });
    await expectEmpty(resumed, 204);
  });

  test(`${verifies("X-01")}an end of a viewport is no cancellation`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("slow", {}, { id: 1 });
    const cursor = await primed(stream);
    const call = await session.upstream.request("tools/call");
    stream.destroy("rst");
    await expectAlive(session);
    call.answer({ kept: true });
    const text = '{"jsonrpc":"2.0","id":1,"result":{"kept":true}}';
    expect(await replayed(session, cursor)).toEqual([text]);
    const methods = session.upstream.arrivals.map(({ message }) => message.method);
    expect(methods).not.toContain("notifications/cancelled");
  });

  test(`${verifies("X-02", "c014")}a cancellation that fits several means the newest`, async () => {
    const bench = await open();
    const session = await bench.session();
    const streams: EventStream[] = [];
    const numbers: number[] = [];
    for (let i = 0; i < 3; i++) {
      streams.push(await session.call("slow", { i }, { id: 1 }));
      numbers.push((await session.upstream.request("tools/call")).id);
    }
    for (const index of [2, 1, 0]) {
      await cancel(session, 1);
      const { message } = await session.upstream.notification("notifications/cancelled");
      expect(message.params?.["requestId"]).toBe(numbers[index]);
      await expectCancelled(session, streams[index] as EventStream);
    }
  });
}

function lateAndFalse(open: OpenBench): void {
  test(`${verifies("X-01", "X-02")}a cancellation of nothing cancels nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    const done = await session.call("quick", {}, { id: 5 });
    (await session.upstream.request("tools/call")).answer({});
    await done.response();
    const stream = await session.call("slow", {}, { id: 1 });
    const call = await session.upstream.request("tools/call");
    for (const requestId of [5, 99, "1", 1.5, null, [1], { id: 1 }, call.id + 1_000, -1, ""]) {
      await expectEmpty(await cancel(session, requestId), 202);
    }
    await expectEmpty(await session.notify("notifications/cancelled"), 202);
    await expectEmpty(await session.notify("notifications/cancelled", { reason: "?" }), 202);
    call.answer({ ran: true });
    expect((await stream.response(1)).result).toEqual({ ran: true });
  });

  test(`${verifies("X-01")}one session cannot cancel in another`, async () => {
    const bench = await open();
    const session = await bench.session();
    const other = await bench.session();
    const stream = await session.call("slow", {}, { id: 1 });
    const call = await session.upstream.request("tools/call");
    await cancel(other, 1);
    await expectAlive(other);
    call.answer({ ran: true });
    expect((await stream.response(1)).result).toEqual({ ran: true });
  });
}
