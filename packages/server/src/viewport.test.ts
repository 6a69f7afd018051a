/** Viewports against sockets that block, close and drain when the test says so. */
import type { EventPlace } from "@holdfast/contract";
import type { LoggedEvent, ReadOutcome } from "@holdfast/log";
import { verifies } from "@holdfast/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeldText } from "./held-text.ts";
import type { Sink } from "./http/exchange.ts";
import { bounds } from "./options.ts";
import { Viewport, type ViewportSource } from "./viewport.ts";

const heartbeatMs = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test(`${verifies("E-09")}a socket that does not drain for three heartbeats is cut`, async () => {
  const { sink, end } = show([event(1, 200_000)]);
  await vi.advanceTimersByTimeAsync(3 * heartbeatMs - 1);
  expect(sink.isDestroyed).toBe(false);
  await vi.advanceTimersByTimeAsync(2 * heartbeatMs);
  expect(sink.isDestroyed).toBe(true);
  expect(await end).toBe("stalled");
  expect(vi.getTimerCount()).toBe(0);
});

test(`${verifies("E-09")}three heartbeats are counted from when it blocked`, async () => {
  const { sink, log } = show([]);
  // Blocked just before a heartbeat: that one does not count.
  await vi.advanceTimersByTimeAsync(heartbeatMs - 1);
  log.append(event(1, 200_000));
  await vi.advanceTimersByTimeAsync(3 * heartbeatMs - 1);
  expect(sink.isDestroyed).toBe(false);
});

test(`${verifies("E-09")}a reader that is slow, but reads, is not cut`, async () => {
  const { sink, end, log } = show([event(1, 20 * 65_536)]);
  while (sink.written.length < 20 * 65_536) {
    await vi.advanceTimersByTimeAsync(2.5 * heartbeatMs);
    sink.drain();
  }
  sink.open();
  log.finish();
  await vi.advanceTimersByTimeAsync(0);
  expect(await end).toBe("finished");
  expect(sink.written).toContain("x".repeat(20 * 65_536));
});

test(`${verifies("E-06", "E-07")}no heartbeat stands in a frame that is half written`, async () => {
  const { sink, end, log } = show([event(1, 200_000)]);
  // Long enough for the text to be let go; it is read again when the socket drains.
  await vi.advanceTimersByTimeAsync(bounds.holdMs + 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  log.pause = promise;
  sink.open();
  await vi.advanceTimersByTimeAsync(2 * heartbeatMs);
  resolve();
  log.finish();
  await vi.advanceTimersByTimeAsync(0);
  expect(await end).toBe("finished");
  expect(sink.written).toBe(`: begin\n\nid: ${id(1)}\ndata: ${"x".repeat(200_000)}\n\n`);
});

test(`${verifies("R-02")}a takeover does not wait for a blocked socket, nor for a release`, async () => {
  const { sink, end, viewport } = show([event(1, 200_000)]);
  await vi.advanceTimersByTimeAsync(10);
  viewport.release(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(sink.isDestroyed).toBe(false);
  viewport.takeOver();
  expect(await end).toBe("taken-over");
  expect(sink.isDestroyed).toBe(true);
});

test(`${verifies("R-02", "E-09")}who is taken over is not waited for; who is slow is`, async () => {
  const half = show([event(1, 1_000), event(2, 1_000)]);
  await vi.advanceTimersByTimeAsync(10);
  half.viewport.takeOver();
  expect(await half.end).toBe("taken-over");
  expect(half.sink.written.endsWith("retry: 5000\n\n")).toBe(true);
  expect(half.sink.lingerMs).toBe(1_000);
  const slow = show([event(1, 10)]);
  slow.log.finish();
  await vi.advanceTimersByTimeAsync(10);
  expect(await slow.end).toBe("finished");
  expect(slow.sink.lingerMs).toBe(45_000);
});

test(`${verifies("E-11")}a release waits for the end of the frame that is being written`, async () => {
  const { sink, end, viewport } = show([event(1, 200_000), event(2, 1)]);
  await vi.advanceTimersByTimeAsync(10);
  viewport.release(1_500);
  await vi.advanceTimersByTimeAsync(10);
  sink.open();
  expect(await end).toBe("released");
  expect(sink.written.endsWith(`${"x".repeat(200_000)}\n\nretry: 1500\n\n`)).toBe(true);
});

test(`${verifies("E-10")}a finished stream ends also when its session could not be ended`, async () => {
  const ending = Promise.reject(new Error("the disk is full"));
  ending.catch(() => {});
  const { sink, end, log } = show([event(1, 1)], { ending: () => ending });
  sink.open();
  log.finish();
  await vi.advanceTimersByTimeAsync(0);
  expect(await end).toBe("finished");
  expect(sink.lingerMs).toBe(45_000);
});

test(`${verifies("E-09", "S-02")}a response that was over before it began is let go`, async () => {
  const sink = scriptedSink();
  sink.close();
  const { end } = show([], {}, sink);
  expect(await end).toBe("disconnected");
  expect(vi.getTimerCount()).toBe(0);
});

test("a viewport that is over follows nothing, and has no timers", async () => {
  for (const over of ["close", "takeOver", "finish"] as const) {
    const { sink, end, log, viewport } = show([event(1, 1)]);
    sink.open();
    await vi.advanceTimersByTimeAsync(1);
    if (over === "close") sink.close();
    else if (over === "finish") log.finish();
    else viewport.takeOver();
    await end;
    expect([log.followers, vi.getTimerCount()]).toEqual([0, 0]);
  }
});

const incarnation = "aaaaaaaa";

function placeAt(position: number): EventPlace {
  return { tag: "0123456789abcdef", stream: 1, position, incarnation };
}

function id(position: number): string {
  return `0123456789abcdef.1.${position}.${incarnation}`;
}

function event(position: number, chars: number): LoggedEvent {
  return { place: placeAt(position), kind: "notification", text: "x".repeat(chars) };
}

/** A viewport from the beginning of a stream with these events, onto a socket that takes nothing. */
function show(
  events: readonly LoggedEvent[],
  more: Partial<ViewportSource> = {},
  sink: ScriptedSink = scriptedSink(),
) {
  const log = scriptedLog(events);
  const source: ViewportSource = {
    stream: 1,
    read: log.read,
    follow: log.follow,
    ended: () => undefined,
    ending: () => undefined,
    onWritten: () => {},
    onReplayed: () => {},
    ...more,
  };
  const settings = { heartbeatMs, retryMs: 1_000, viewportMaxMs: 0 };
  const viewport = new Viewport(source, sink, settings, new HeldText(), placeAt(0));
  const end = viewport.run({ cursor: placeAt(0), preface: ": begin\n\n" });
  return { sink, log, viewport, end };
}

function scriptedLog(given: readonly LoggedEvent[]) {
  const events = [...given];
  const wakes = new Set<() => void>();
  const log = {
    isFinished: false,
    /** What a read waits for. */
    pause: Promise.resolve(),
    get followers() {
      return wakes.size;
    },
    read: async (cursor: EventPlace): Promise<ReadOutcome> => {
      await log.pause;
      const after = events.filter(({ place }) => place.position > cursor.position);
      if (after.length === 0 && log.isFinished) return { kind: "finished" };
      return { kind: "events", events: after };
    },
    follow: (wake: () => void) => {
      wakes.add(wake);
      return () => void wakes.delete(wake);
    },
    append: (one: LoggedEvent) => {
      events.push(one);
      for (const wake of wakes) wake();
    },
    finish: () => {
      log.isFinished = true;
      for (const wake of wakes) wake();
    },
  };
  return log;
}

interface ScriptedSink extends Sink {
  readonly written: string;
  /** How long the end may take; `undefined` before it. */
  readonly lingerMs: number | undefined;
  readonly isDestroyed: boolean;
  /** What was written leaves; the next write blocks again. */
  drain(): void;
  /** From now on everything leaves at once. */
  open(): void;
  /** The other side is gone. */
  close(): void;
}

/** It blocks with the first piece of more than a few bytes. */
function scriptedSink(): ScriptedSink {
  const state = { written: "", isOpen: false, isFull: false, isClosed: false };
  const over = { lingerMs: undefined as number | undefined, isDestroyed: false };
  let waiting: (() => void)[] = [];
  let listeners: (() => void)[] = [];
  const drain = () => {
    state.isFull = false;
    for (const resolve of waiting.splice(0)) resolve();
  };
  const close = () => {
    state.isClosed = true;
    drain();
    for (const listener of listeners.splice(0)) listener();
  };
  return {
    get written() {
      return state.written;
    },
    get lingerMs() {
      return over.lingerMs;
    },
    get isDestroyed() {
      return over.isDestroyed;
    },
    drain,
    close,
    open: () => {
      state.isOpen = true;
      drain();
    },
    write: (text) => {
      const piece = typeof text === "string" ? text : Buffer.from(text).toString();
      state.written += piece;
      state.isFull = !state.isOpen && piece.length > 100;
      return !state.isFull;
    },
    isDrained: () => !state.isFull,
    drained: () =>
      new Promise((resolve) => {
        if (state.isFull) waiting = [...waiting, resolve];
        else resolve();
      }),
    end: (lingerMs) => {
      over.lingerMs = lingerMs;
    },
    destroy: () => {
      over.isDestroyed = true;
      close();
    },
    onClose: (listener) => {
      if (state.isClosed) listener();
      else listeners = [...listeners, listener];
    },
  };
}
