import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { isReplicated, meet, type StoreIdentity, storeWarnings } from "./identity.ts";

const store: StoreIdentity = {
  ...{ system: "1", timeline: "00000001", database: "2", table: "3", started: "4" },
  ...{ isLossy: false, isReplicated: false },
};
const lossy = { ...store, isLossy: true };
const replicated = { ...store, isReplicated: true };

describe("meeting the store again", () => {
  test.each<[string, StoreIdentity | null, Partial<StoreIdentity>, ReturnType<typeof meet>]>([
    ["never met", null, {}, "changed"],
    ["as it was", store, {}, "same"],
    ["started again", store, { started: "5" }, "changed"],
    ["started again, fsync off", lossy, { started: "5", isLossy: true }, "loss"],
    // What counts is how it was run before the restart.
    ["started again, fsync on since", lossy, { started: "5" }, "loss"],
    ["started again, fsync off since", store, { started: "5", isLossy: true }, "changed"],
    ["a standby promoted", store, { timeline: "00000002" }, "loss"],
    ["a standby promoted that every commit waited for", replicated, { timeline: "2" }, "changed"],
    [
      "a standby promoted, synchronous only since",
      store,
      { timeline: "2", isReplicated: true },
      "loss",
    ],
    ["another cluster", replicated, { system: "9" }, "loss"],
    ["another database", store, { database: "9" }, "loss"],
    ["tables made again", store, { table: "9" }, "loss"],
  ])(`${verifies("R-08")}%s`, (_what, noted, change, meeting) => {
    expect(meet(noted, { ...store, ...change })).toBe(meeting);
  });
});

const settings = {
  ...{ fsync: "on", full_page_writes: "on", synchronous_commit: "on", standbys: "" },
  ...{ version: 150_020, version_text: "15.20" },
};

test("a standby has each commit only where commits wait for it to be on disk there", () => {
  const modes = ["on", "remote_apply", "remote_write", "local", "off"];
  const of = (synchronous_commit: string) =>
    isReplicated({ ...settings, synchronous_commit, standbys: "one" });
  // `off` is turned on by the log.
  expect(modes.filter(of)).toEqual(["on", "remote_apply", "off"]);
  expect(isReplicated({ ...settings, standbys: " " })).toBe(false);
});

test(`${verifies("N-05")}what may lose events is said in a sentence each`, () => {
  expect(storeWarnings(settings)).toEqual([]);
  const worst = { fsync: "off", full_page_writes: "off", synchronous_commit: "off" };
  const warnings = storeWarnings({ ...settings, ...worst, version: 130_000, version_text: "13.0" });
  expect(warnings.map((sentence) => sentence.split(" ").slice(0, 3).join(" "))).toEqual([
    "PostgreSQL 13.0 is",
    "fsync is off:",
    "full_page_writes is off:",
    "synchronous_commit is off:",
  ]);
});
