import { expect, test } from "vitest";
import type { StreamEntry } from "./book.ts";
import { createRecent, type Recent } from "./recent.ts";

function emptyStream(): StreamEntry {
  const state = {
    stream: 1,
    calls: [],
    runs: [],
    head: 0,
    evictedThrough: 0,
    writtenThrough: 0,
    isFinished: false,
  };
  return {
    id: 1,
    state,
    finishedAtMs: undefined,
    cancelledAtMs: undefined,
    states: "",
    runs: [],
    recent: undefined,
  };
}

function append(recent: Recent, stream: StreamEntry, bytes: number): void {
  const position = stream.state.head + 1;
  stream.state = { ...stream.state, head: position };
  const place = { tag: "tag", stream: 1, position, incarnation: "aaaaaaaa" };
  recent.keep(stream, { place, kind: "notification", text: "" }, bytes);
}

/** Positions kept after one, or `undefined` if the file must be asked. */
function positions(recent: Recent, stream: StreamEntry, after: number): number[] | undefined {
  const slice = recent.after(stream, after);
  return slice?.kept.events.slice(slice.from).map(({ place }) => place.position);
}

test("the newest 64 events are kept, up to the head", () => {
  const [recent, stream] = [createRecent(), emptyStream()];
  expect(recent.after(stream, 0)).toBeUndefined();
  for (let i = 0; i < 100; i += 1) append(recent, stream, 10);
  expect(positions(recent, stream, 35)).toBeUndefined();
  expect(positions(recent, stream, 36)).toHaveLength(64);
  expect(positions(recent, stream, 98)).toEqual([99, 100]);
  expect(positions(recent, stream, 100)).toEqual([]);
  recent.drop(stream);
  expect(recent.after(stream, 99)).toBeUndefined();
});

test("what is too large is not kept, and what comes after it is", () => {
  const [recent, stream] = [createRecent(), emptyStream()];
  append(recent, stream, 100_000);
  append(recent, stream, 100_000);
  append(recent, stream, 100_000);
  expect(positions(recent, stream, 0)).toBeUndefined();
  expect(positions(recent, stream, 1)).toEqual([2, 3]);
  append(recent, stream, 300_000);
  expect(positions(recent, stream, 3)).toBeUndefined();
  append(recent, stream, 1);
  expect(positions(recent, stream, 4)).toEqual([5]);
});

test("all streams together keep at most 32 MB", () => {
  const recent = createRecent();
  const streams = Array.from({ length: 200 }, emptyStream);
  for (const stream of streams) append(recent, stream, 200_000);
  const kept = () => streams.filter(({ recent }) => recent !== undefined).length;
  expect(kept()).toBe(Math.floor((32 * 1024 * 1024) / 200_000));
  for (const stream of streams.slice(0, 10)) recent.drop(stream);
  for (const stream of streams.slice(-10)) append(recent, stream, 200_000);
  expect(kept()).toBe(Math.floor((32 * 1024 * 1024) / 200_000));
});
