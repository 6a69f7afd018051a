import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { measureAbandoned } from "./abandoned.ts";
import { isHeld } from "./report.ts";

const sessions = Number(process.env.HOLDFAST_ABANDONED_SESSIONS ?? 1_000);

test(`${verifies("S-02", "P-02", "c022")}sessions that are opened and abandoned leave nothing behind, in memory or in the file`, async () => {
  const { bounds } = await measureAbandoned({ sessions });
  expect(bounds.filter((bound) => !isHeld(bound))).toEqual([]);
});
