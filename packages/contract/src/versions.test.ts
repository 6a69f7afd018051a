import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { allowsArrays, isPrimedVersion, isSupportedVersion, supportedVersions } from "./index.ts";

test.each([
  ["2024-11-05", { primed: false, arrays: true, supported: false }],
  ["2025-03-26", { primed: false, arrays: true, supported: true }],
  ["2025-06-18", { primed: false, arrays: false, supported: true }],
  ["2025-11-25", { primed: true, arrays: false, supported: true }],
  ["2026-07-28", { primed: true, arrays: false, supported: false }],
  ["DRAFT-2026-v1", { primed: false, arrays: false, supported: false }],
  ["", { primed: false, arrays: false, supported: false }],
  ["2025-11-25\n", { primed: false, arrays: false, supported: false }],
])(`${verifies("S-09", "E-01", "E-05")}%j: %j`, (version, expected) => {
  expect({
    primed: isPrimedVersion(version),
    arrays: allowsArrays(version),
    supported: isSupportedVersion(version),
  }).toEqual(expected);
});

test(`${verifies("S-09")}the supported versions are listed newest first`, () => {
  expect(supportedVersions).toEqual([...supportedVersions].sort().reverse());
});
