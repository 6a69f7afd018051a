import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { eventsBetween, isBehind, isUnseen, ReplayGuard, streamOf } from "./cursors.ts";

const id = (position: number, stream = 1, incarnation = "aaaaaaaa") =>
  `0123456789abcdef.${stream}.${position}.${incarnation}`;

describe("what ids tell", () => {
  test(`${verifies("K-13")}unseen: later in the same stream, whoever appended it`, () => {
    expect(isUnseen(id(5), id(4))).toBe(true);
    expect(isUnseen(id(5, 1, "bbbbbbbb"), id(4))).toBe(true);
    for (const [named, cursor] of [
      [id(4), id(4)],
      [id(3), id(4)],
      [id(5, 2), id(4)],
      ["fedcba9876543210.1.5.aaaaaaaa", id(4)],
      ["e5", "e4"],
      [id(5), null],
    ] as const) {
      expect([named, cursor, isUnseen(named, cursor)]).toEqual([named, cursor, false]);
    }
  });

  test("behind: earlier in the same stream of the same incarnation", () => {
    expect(isBehind(id(3), id(4))).toBe(true);
    for (const [named, cursor] of [
      [id(4), id(4)],
      [id(3, 1, "bbbbbbbb"), id(4)],
      ["e3", "e4"],
      [id(3), null],
    ] as const) {
      expect([named, cursor, isBehind(named, cursor)]).toEqual([named, cursor, false]);
    }
  });

  test(`${verifies("K-08")}how many are between two ids, where that can be counted`, () => {
    expect(eventsBetween(id(4), id(9))).toBe(5);
    expect(eventsBetween(id(9), id(4))).toBeNull();
    expect(eventsBetween(id(4), id(9, 2))).toBeNull();
    expect(eventsBetween("e4", "e9")).toBeNull();
    expect(eventsBetween(null, id(9))).toBeNull();
    expect([streamOf(id(1, 7)), streamOf("e1"), streamOf(null)]).toEqual([7, null, null]);
  });
});

describe("the guard against replays", () => {
  test("knows what it has seen, until something new comes", () => {
    const guard = new ReplayGuard();
    guard.begin();
    const seen = (ids: (string | undefined)[]) => ids.map((one) => guard.isRepeat(one));
    expect(seen(["a", "b", "b", undefined])).toEqual([false, false, false, false]);
    guard.begin();
    expect(seen(["a", "b", "c", "a"])).toEqual([true, true, false, false]);
    guard.begin();
    // Without an id nobody can tell.
    expect(seen([undefined, "a"])).toEqual([false, false]);
  });

  test("forgets what is old", () => {
    const guard = new ReplayGuard();
    for (let i = 0; i < 300; i += 1) guard.isRepeat(`e${i}`);
    guard.begin();
    expect(guard.isRepeat("e299")).toBe(true);
    expect(guard.isRepeat("e0")).toBe(false);
  });
});
