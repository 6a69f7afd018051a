import { afterEach, expect, test, vi } from "vitest";
import { seededRandom, seedHints, testSeed } from "./seeded-random.ts";

afterEach(() => vi.unstubAllEnvs());

test("one seed gives one sequence, another seed another", () => {
  const draw = (seed: number) => Array.from({ length: 8 }, seededRandom(seed).uint32);
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("int reaches both ends and nothing beyond", () => {
  const random = seededRandom(1);
  const seen = new Set(Array.from({ length: 500 }, () => random.int(3, 6)));
  expect([...seen].sort()).toEqual([3, 4, 5, 6]);
});

test("values are spread evenly", () => {
  const random = seededRandom(2);
  const counts = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  for (let draws = 0; draws < 10_000; draws += 1) counts[random.int(0, 9)]! += 1;
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test("shuffle keeps every item", () => {
  const items = ["a", "b", "c", "d", "e"];
  expect(seededRandom(3).shuffle(items).sort()).toEqual(items);
});

test("bytes have the length asked for, and chance 0 and 1 are certain", () => {
  const random = seededRandom(4);
  expect(random.bytes(1000)).toHaveLength(1000);
  expect(new Set(random.bytes(10_000)).size).toBe(256);
  expect([random.chance(0), random.chance(1)]).toEqual([false, true]);
  expect(() => random.pick([])).toThrow(TypeError);
});

test("HOLDFAST_SEED fixes the seed, and the hint names it", () => {
  vi.stubEnv("HOLDFAST_SEED", "4711");
  expect(testSeed("the hint")).toBe(4711);
  expect(seedHints()).toContain("the hint: re-run with HOLDFAST_SEED=4711");
  vi.stubEnv("HOLDFAST_SEED", "many");
  expect(() => testSeed("the hint")).toThrow('not "many"');
});

test("without HOLDFAST_SEED seeds differ", () => {
  vi.stubEnv("HOLDFAST_SEED", "");
  expect(new Set(Array.from({ length: 5 }, () => testSeed("fresh"))).size).toBeGreaterThan(1);
});
