import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { type Meta, takeOver } from "./takeover.ts";

const opening = { bootId: "boot 1", durability: "process", incarnation: "aaaaaaaa" } as const;
const fresh = takeOver(undefined, opening, 0);
const next = { ...opening, incarnation: "bbbbbbbb" };

describe("opening a log", () => {
  test("begins at generation 1, without a loss, not closed", () => {
    expect(fresh).toEqual({
      generation: 1,
      bootId: "boot 1",
      durability: "process",
      isClean: false,
      baseMs: 0,
      lossGeneration: 0,
      lossIncarnation: "",
    } satisfies Meta);
  });

  test(`${verifies("R-08", "S-07")}finds a possible loss only after an unclean stop of the machine`, () => {
    const stopped: [Partial<Meta>, string, boolean][] = [
      [{ isClean: false }, "boot 1", false],
      [{ isClean: false }, "boot 2", true],
      [{ isClean: true }, "boot 2", false],
      [{ isClean: false, durability: "power" }, "boot 2", false],
      // A machine that does not tell its boots apart.
      [{ isClean: false, bootId: "" }, "", true],
      [{ isClean: true, bootId: "" }, "", false],
    ];
    for (const [previous, bootId, isLoss] of stopped) {
      const meta = takeOver({ ...fresh, ...previous }, { ...next, bootId }, 0);
      expect(meta.lossGeneration).toBe(isLoss ? 2 : 0);
      expect(meta.lossIncarnation).toBe(isLoss ? "bbbbbbbb" : "");
    }
  });

  test(`${verifies("R-08")}keeps a loss through later openings`, () => {
    const lost = takeOver(fresh, { ...next, bootId: "boot 2" }, 0);
    const later = takeOver({ ...lost, isClean: true }, { ...opening, incarnation: "cccccccc" }, 0);
    expect(later).toMatchObject({ generation: 3, lossGeneration: 2, lossIncarnation: "bbbbbbbb" });
  });

  test(`${verifies("S-02")}goes on in log time, not before the newest event`, () => {
    expect(takeOver({ ...fresh, baseMs: 70 }, next, 50).baseMs).toBe(70);
    expect(takeOver({ ...fresh, baseMs: 30 }, next, 50).baseMs).toBe(50);
  });
});
