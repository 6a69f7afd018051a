/**
 * Chance that can be repeated: a seeded generator, and where a test's seed comes from.
 *
 * The generator is sfc32 (Chris Doty-Humphrey, PractRand), filled from the seed by splitmix32.
 */

export interface SeededRandom {
  /** 0 ≤ n < 2³², whole. */
  uint32(): number;
  /** 0 ≤ n < 1. */
  fraction(): number;
  /** `min` ≤ n ≤ `max`, whole; both ends can come. */
  int(min: number, max: number): number;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** The same items in another order. */
  shuffle<T>(items: readonly T[]): T[];
  bytes(length: number): Buffer;
}

/** @param seed - whole number; the low 32 bits count */
export function seededRandom(seed: number): SeededRandom {
  const uint32 = sfc32(seed);
  const fraction = () => uint32() / 2 ** 32;
  const int = (min: number, max: number) => min + Math.floor(fraction() * (max - min + 1));
  return {
    uint32,
    fraction,
    int,
    chance: (probability) => fraction() < probability,
    pick: (items) => {
      if (items.length === 0) throw new TypeError("pick: there is nothing to pick from");
      return items[int(0, items.length - 1)] as (typeof items)[number];
    },
    shuffle: (items) => {
      const rest = [...items];
      return items.map(() => rest.splice(int(0, rest.length - 1), 1)[0] as (typeof items)[number]);
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => uint32() & 0xff)),
  };
}

function sfc32(seed: number): () => number {
  const fill = splitmix32(seed);
  let a = fill();
  let b = fill();
  let c = fill();
  let counter = fill();
  return () => {
    const out = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + out;
    return out >>> 0;
  };
}

function splitmix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
}

const taken = new Map<string, number>();

/** One line for each seed that this process took; printed when a test fails. */
export function seedHints(): string[] {
  return [...taken].map(([name, seed]) => `${name}: re-run with HOLDFAST_SEED=${seed}`);
}

/**
 * The seed of a test: `HOLDFAST_SEED`, or a fresh one that a failure prints.
 *
 * @param name - of what runs on it, for the hint
 * @returns whole, 0 ≤ seed < 2³¹ when fresh
 */
export function testSeed(name: string): number {
  const given = process.env.HOLDFAST_SEED ?? "";
  const seed = given === "" ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  if (!Number.isSafeInteger(seed)) {
    throw new TypeError(`HOLDFAST_SEED must be a whole number, not "${given}"`);
  }
  taken.set(name, seed);
  return seed;
}
