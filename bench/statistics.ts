/** Arithmetic of rounds. Pure. */

/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("there is no median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [below = 0, above = 0] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? above : (below + above) / 2;
}

/**
 * The order of a round: each round begins with another contestant, so that none always runs after
 * the same neighbour.
 */
export function rotated<T>(contestants: readonly T[], round: number): readonly T[] {
  const from = contestants.length === 0 ? 0 : round % contestants.length;
  return [...contestants.slice(from), ...contestants.slice(0, from)];
}

/** Values of each name, round by round, then their medians. */
export interface Samples<Name extends string> {
  add(name: Name, value: number): void;
  median(name: Name): number;
  /** Of the medians. */
  ratio(name: Name, to: Name): number;
}

export function createSamples<Name extends string>(): Samples<Name> {
  const byName = new Map<Name, number[]>();
  const middle = (name: Name) => median(byName.get(name) ?? []);
  return {
    add: (name, value) => {
      const values = byName.get(name) ?? [];
      values.push(value);
      byName.set(name, values);
    },
    median: middle,
    ratio: (name, to) => middle(name) / middle(to),
  };
}
