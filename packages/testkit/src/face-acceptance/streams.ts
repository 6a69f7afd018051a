/** Chapter: events, their ids, and the streams that they stand in. */
import { expect, test } from "vitest";
import { messageOf, openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import type { SseItem } from "../sse-reading.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { serverHello } from "./scripted-upstream.ts";
import {
  door,
  idsIn,
  note,
  numbersIn,
  openCall,
  placeOf,
  range,
  sayNotes,
  settle,
} from "./traffic.ts";

export function streamsChapter(open: OpenBench): void {
  eventsAndTheLog(open);
  viewports(open);
  letGo(open);
}

function eventsAndTheLog(open: OpenBench): void {
  test(`${verifies("E-02")}event ids count each stream's events, without holes`, async () => {
    const bench = await open();
    const [session, other] = [await bench.session(), await bench.session()];
    const standalone = await session.get();
    sayNotes(session.upstream, 1, 5);
    for (let i = 0; i < 5; i += 1) await standalone.nextMessage();
    const calls = [await answeredCall(session, 3), await answeredCall(session, 0)];
    const foreign = await answeredCall(other, 3);
    for (const { items } of [standalone, ...calls]) {
      const ids = idsIn(items);
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{1,128}$/);
      const places = ids.map(placeOf);
      expect(places.map(({ position }) => position)).toEqual(range(0, ids.length - 1));
      expect(new Set(places.map(({ stream }) => stream)).size).toBe(1);
      expect(new Set(places.map(({ tag }) => tag))).toEqual(new Set([session.tag]));
      expect(new Set(places.map(({ incarnation }) => incarnation)).size).toBe(1);
    }
    const all = [standalone, ...calls].flatMap(({ items }) => idsIn(items));
    expect(new Set(all).size).toBe(all.length);
    expect(placeOf(standalone.lastEventId).stream).toBe(0);
    expect(placeOf(foreign.lastEventId).tag).not.toBe(session.tag);
  });

  test(`${verifies("E-03")}nothing reaches the wire before it is in the log`, async () => {
    const committed = door();
    const held = door();
    let isHolding = false;
    const bench = await open({
      logGate: {
        beforeCommit: (ops) => {
          if (!isHolding || !ops.some(({ op }) => op === "append")) return undefined;
          held.open();
          return committed.passed;
        },
      },
    });
    const session = await bench.session();
    const standalone = await session.get();
    const { stream, call } = await openCall(session, { progressToken: "p" });
    isHolding = true;
    call.progress(1);
    call.answer({ done: true });
    session.upstream.say({ method: "notifications/tools/list_changed" });
    await held.passed;
    await settle(bench);
    expect([stream.messages, standalone.messages]).toEqual([[], []]);
    committed.open();
    expect((await stream.response()).result).toEqual({ done: true });
    expect((await standalone.nextMessage()).method).toBe("notifications/tools/list_changed");
  });

  test(`${verifies("E-03", "E-08")}a log that takes no writes holds events back`, async () => {
    let isFull = false;
    const bench = await open({
      logGate: {
        beforeCommit: async (ops) => {
          if (isFull && ops.some(({ op }) => op === "append")) throw new Error("the disk is full");
        },
      },
    });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    isFull = true;
    sayNotes(session.upstream, 1, 5);
    await settle(bench);
    sayNotes(session.upstream, 6, 10);
    call.answer({});
    await settle(bench);
    expect(stream.messages).toEqual([]);
    isFull = false;
    await stream.response();
    expect(numbersIn(stream.items)).toEqual(range(1, 10));
  });

  // The commits behind one that failed take effect before it: a response may overtake its notes.
  test(`${verifies("E-03", "E-08")}a failed write keeps its place in the order`, async () => {
    let failuresLeft = 0;
    const bench = await open({
      logGate: {
        beforeCommit: async (ops) => {
          if (failuresLeft === 0 || !ops.some(({ op }) => op === "append")) return;
          failuresLeft -= 1;
          throw new Error("the disk is full");
        },
      },
    });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    failuresLeft = 3;
    sayNotes(session.upstream, 1, 5);
    await settle(bench);
    call.answer({});
    await stream.response();
    expect(numbersIn(stream.items)).toEqual(range(1, 5));
  });

  test(`${verifies("E-04", "S-01")}what is said while nobody is attached is kept`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session, { progressToken: 7 });
    stream.destroy("rst");
    await settle(bench);
    call.progress(1);
    call.answer({ done: true });
    sayNotes(session.upstream, 1, 3);
    const resumed = await session.get({ lastEventId: stream.lastEventId as string });
    const rest = await resumed.rest();
    const messages = rest.map(messageOf).filter((message) => message !== undefined);
    expect(messages.map(({ method, result }) => method ?? result)).toEqual([
      "notifications/progress",
      { done: true },
    ]);
    const standalone = await session.get();
    for (let i = 0; i < 3; i += 1) await standalone.nextMessage();
    expect(numbersIn(standalone.items)).toEqual(range(1, 3));
  });
}

function viewports(open: OpenBench): void {
  test(`${verifies("E-08")}events come in the order in which they were said`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    const standalone = await session.get();
    for (let number = 1; number <= 2_000; number += 1) {
      session.upstream.say(note(number));
      if (number % 100 === 0) await settle(bench);
      if (number % 10 === 0) session.upstream.say({ method: "notifications/tools/list_changed" });
    }
    call.answer({});
    await stream.response();
    expect(numbersIn(stream.items)).toEqual(range(1, 2_000));
    for (let i = 0; i < 200; i += 1) await standalone.nextMessage();
    expect(idsIn(standalone.items).map((id) => placeOf(id).position)).toEqual(range(0, 200));
  });

  test(`${verifies("E-10")}a stream ends after its response, which stays readable`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await answeredCall(session, 2);
    expect((await stream.ended).how).toBe("end");
    for (let again = 0; again < 2; again += 1) {
      const resumed = await session.get({ lastEventId: stream.events[0]?.id as string });
      expect((await resumed.response()).result).toEqual({ done: true });
      expect((await resumed.ended).how).toBe("end");
      expect(numbersIn(resumed.items)).toEqual([1, 2]);
    }
  });

  test(`${verifies("E-11", "E-05")}a viewport that has shown no id is not let go: its reader could not come back`, async () => {
    const bench = await open({ options: { viewportMaxMs: 10 } });
    const other = await bench.session();
    bench.upstreams.respond = () => undefined;
    const stream = await openEventStream({
      ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
      headers: { accept: acceptBoth, "content-type": "application/json" },
    });
    const initialize = await (await bench.upstreams.next()).request("initialize");
    // A later viewport, of another session, is let go.
    await (await other.get()).ended;
    initialize.answer(serverHello("2025-11-25"));
    expect((await stream.response()).result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  test(`${verifies("E-11", "E-08", "c033")}viewports let go in time lose nothing`, async () => {
    const bench = await open({ options: { viewportMaxMs: 20, retryMs: 777 } });
    const session = await bench.session();
    const { stream: first, call } = await openCall(session);
    const seen: SseItem[] = [];
    let said = 0;
    let stream = first;
    for (let viewports = 1; viewports <= 10; viewports += 1) {
      sayNotes(session.upstream, said + 1, said + 10);
      said += 10;
      const items = await stream.rest();
      seen.push(...items);
      expect((await stream.ended).how).toBe("end");
      expect(items.at(-1)).toEqual({ kind: "retry", retryMs: 777 });
      expect(items.filter((item) => item.kind === "event" && item.event === "close")).toEqual([]);
      stream = await session.get({ lastEventId: stream.lastEventId as string });
    }
    call.answer({ done: true });
    const last = await wholeStream(session, seen);
    expect(numbersIn(seen)).toEqual(range(1, said));
    expect(numbersIn(last)).toEqual(range(1, said));
    expect(last.map(messageOf).findLast((message) => message?.result)?.result).toEqual({
      done: true,
    });
  });
}

function letGo(open: OpenBench): void {
  test(`${verifies("E-11", "X-01")}a reader that the upstream lets go comes back to the same stream`, async () => {
    const bench = await open({ options: { retryMs: 777 } });
    const session = await bench.session();
    const standalone = await session.get();
    const { stream, call } = await openCall(session);
    for (const [reader, related] of [[stream, call.id] as const, [standalone, null] as const]) {
      session.upstream.letGo(related);
      expect((await reader.rest()).at(-1)).toEqual({ kind: "retry", retryMs: 777 });
      expect((await reader.ended).how).toBe("end");
    }
    session.upstream.say(note(1));
    call.answer({ done: true });
    const resumed = await session.get({ lastEventId: stream.lastEventId as string });
    expect((await resumed.response()).result).toEqual({ done: true });
    expect(numbersIn(resumed.items)).toEqual([1]);
  });

  test(`${verifies("E-11")}who has no cursor to come back with is not let go`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-06-18" });
    const { stream, call } = await openCall(session);
    session.upstream.letGo(call.id);
    call.answer({ done: true });
    expect((await stream.response()).result).toEqual({ done: true });
  });
}

/** A call that says so many notes, and is answered. */
async function answeredCall(session: BenchSession, notes: number) {
  const { stream, call } = await openCall(session);
  sayNotes(session.upstream, 1, notes);
  call.answer({ done: true });
  await stream.response();
  return stream;
}

/** The whole of a stream of which these items are a part, as its log has it; however often cut. */
async function wholeStream(session: BenchSession, items: readonly SseItem[]): Promise<SseItem[]> {
  const [first] = idsIn(items);
  let cursor = first as string;
  const whole: SseItem[] = [];
  for (;;) {
    const stream = await session.get({ lastEventId: cursor });
    if (stream.status === 204) return whole;
    whole.push(...(await stream.rest()));
    cursor = stream.lastEventId ?? cursor;
  }
}
