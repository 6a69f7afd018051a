/**
 * Counts by one label, as plain numbers: adding costs the call path next to nothing, whoever reads
 * them. Labels that are known begin at zero, so that the first of its kind is an increase.
 */
export class Tally<Label extends string> {
  readonly #counts = new Map<Label, number>();

  constructor(labels: readonly Label[]) {
    for (const label of labels) this.#counts.set(label, 0);
  }

  add(label: Label, by = 1): void {
    this.#counts.set(label, this.of(label) + by);
  }

  of(label: Label): number {
    return this.#counts.get(label) ?? 0;
  }

  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  entries(): Iterable<readonly [Label, number]> {
    return this.#counts;
  }

  toJSON(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
