import type { EventPlace } from "@holdfast/contract";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { StreamState } from "./event-log.ts";
import { judge } from "./judge.ts";

const tag = "3f9c0a51d2b47e88";
const now = "nowwwwww";
const [a, b] = ["aaaaaaaa", "bbbbbbbb"];

/** Events 1–9, 1–4 gone; 1–5 of incarnation a, 6–9 of b. */
const stream: StreamState = {
  stream: 4,
  calls: [{ id: "1", method: "tools/call", startedAtMs: 0, state: "running" }],
  runs: [
    { from: 0, incarnation: a },
    { from: 6, incarnation: b },
  ],
  head: 9,
  evictedThrough: 4,
  writtenThrough: 0,
  isFinished: false,
};

const at = (position: number, incarnation: string): EventPlace => ({
  tag,
  stream: 4,
  position,
  incarnation,
});

function gapAt(position: number, incarnation: string, state: StreamState = stream) {
  const judgement = judge(at(position, incarnation), tag, state, now);
  if (judgement.kind !== "gap") throw new Error(`no gap but ${judgement.kind}`);
  return judgement.gap;
}

describe("a cursor is", () => {
  test(`${verifies("R-01", "E-02")}honoured from the watermark to the head, by its record`, () => {
    for (const [position, incarnation] of [
      [4, a],
      [5, a],
      [6, b],
      [9, b],
    ] as const) {
      expect(judge(at(position, incarnation), tag, stream, now)).toEqual({ kind: "honoured" });
    }
  });

  test(`${verifies("R-05")}foreign by its tag alone`, () => {
    const cursor = { ...at(5, a), tag: "0000000000000000" };
    expect(judge(cursor, tag, stream, now)).toEqual({ kind: "foreign" });
    expect(judge(cursor, tag, undefined, now)).toEqual({ kind: "foreign" });
  });

  test(`${verifies("R-03", "R-04")}before an evicted event: counted, and resumed at oldest`, () => {
    expect(gapAt(1, a)).toEqual({
      stream: 4,
      requested: at(1, a),
      oldest: at(4, a),
      head: at(9, b),
      lostEvents: 3,
      retained: at(4, a),
    });
    expect(gapAt(3, a).lostEvents).toBe(1);
  });

  test(`${verifies("R-03", "E-02")}before an evicted event of another incarnation: not counted`, () => {
    expect(gapAt(3, b)).toMatchObject({ lostEvents: null, oldest: at(4, a) });
    const forgotten = { ...stream, runs: [{ from: 3, incarnation: a }] };
    expect(gapAt(2, a, forgotten).lostEvents).toBe(null);
  });

  test(`${verifies("R-05", "R-04")}past the head: not counted, and resumed at the head`, () => {
    expect(gapAt(10, b)).toMatchObject({ lostEvents: null, oldest: at(9, b), head: at(9, b) });
  });

  test(`${verifies("R-05", "R-04", "E-02")}of another incarnation: never before its position`, () => {
    expect(gapAt(7, a)).toMatchObject({ lostEvents: null, oldest: at(7, b), retained: at(4, a) });
    expect(gapAt(5, b)).toMatchObject({ lostEvents: null, oldest: at(5, a) });
    expect(gapAt(9, now)).toMatchObject({ lostEvents: null, oldest: at(9, b) });
  });

  test(`${verifies("R-06")}at the end of a finished stream, but only by its record`, () => {
    const finished: StreamState = { ...stream, isFinished: true };
    expect(judge(at(9, b), tag, finished, now)).toEqual({ kind: "finished" });
    expect(judge(at(8, b), tag, finished, now)).toEqual({ kind: "honoured" });
    expect(gapAt(9, a, finished)).toMatchObject({ oldest: at(9, b) });
  });

  test(`${verifies("R-04")}counted to the head of a stream that is evicted whole`, () => {
    const empty: StreamState = { ...stream, isFinished: true, evictedThrough: 9 };
    expect(gapAt(1, a, empty)).toMatchObject({ lostEvents: 8, oldest: at(9, b), head: at(9, b) });
    expect(judge(at(9, b), tag, empty, now)).toEqual({ kind: "finished" });
  });

  test(`${verifies("R-05", "R-06")}of a stream that went with a lost end: a gap, then finished`, () => {
    const judgement = judge(at(7, a), tag, undefined, now);
    const place = at(0, now);
    expect(judgement).toEqual({
      kind: "gap",
      gap: {
        stream: 4,
        requested: at(7, a),
        oldest: place,
        head: place,
        lostEvents: null,
        retained: place,
      },
    });
    expect(judge(place, tag, undefined, now)).toEqual({ kind: "finished" });
    expect(judge(at(0, a), tag, undefined, now)).toMatchObject({ kind: "gap" });
  });
});
