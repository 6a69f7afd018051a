import { expect, test } from "vitest";
import { durationPhrase, parseDuration, parseSize, parseWhole, sizePhrase } from "./units.ts";

test.each([
  ["0", 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["10m", 600_000],
  ["24h", 86_400_000],
  ["576h", 2_073_600_000],
  ["90M", 5_400_000],
  ["0s", 0],
])("the duration %s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toEqual({ ok: true, value: ms });
});

test.each([
  "",
  "30",
  "s",
  "-1s",
  "1.5h",
  "1e3s",
  "30 s",
  "10min",
  "577h",
  "9999999999999999h",
  "٣s",
])("%j is no duration", (text) => {
  expect(parseDuration(text).ok).toBe(false);
});

test.each([
  ["1", 1],
  ["4096", 4096],
  ["10b", 10],
  ["64kb", 65_536],
  ["4mb", 4_194_304],
  ["64MB", 67_108_864],
  ["2gb", 2_147_483_648],
])("the size %s is %d bytes", (text, bytes) => {
  expect(parseSize(text)).toEqual({ ok: true, value: bytes });
});

test.each(["", "0", "0mb", "-1", "1.5mb", "4 mb", "4mib", "kb", "9007199254740993", "99999999gb"])(
  "%j is no size",
  (text) => {
    expect(parseSize(text).ok).toBe(false);
  },
);

test("whole numbers keep to their bounds", () => {
  expect(parseWhole("0", 0, 9)).toEqual({ ok: true, value: 0 });
  expect(parseWhole("9", 0, 9)).toEqual({ ok: true, value: 9 });
  for (const text of ["10", "-1", "1.0", "0x5", "", " 5", "5e0"]) {
    expect(parseWhole(text, 0, 9).ok).toBe(false);
  }
});

test.each([
  [1_800_000, "30 min"],
  [90_000, "90 s"],
  [86_400_000, "24 h"],
  [1500, "1500 ms"],
  [0, "0 ms"],
])("%d ms reads as %s", (ms, phrase) => {
  expect(durationPhrase(ms)).toBe(phrase);
});

test.each([
  [67_108_864, "64 MB"],
  [65_536, "64 KB"],
  [1000, "1000 bytes"],
])("%d bytes read as %s", (bytes, phrase) => {
  expect(sizePhrase(bytes)).toBe(phrase);
});
