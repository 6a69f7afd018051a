/**
 * The charges that were made, one line each in a file that all sessions share: whoever is charged
 * twice finds two lines.
 */

import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface Charge {
  /** 1 for the first in the file. */
  readonly number: number;
  readonly amount: number;
}

export interface Ledger {
  /** Enter a charge: the side effect. */
  charge(amount: number): Charge;
  charges(): readonly Charge[];
}

export function openLedger(path: string): Ledger {
  const lines = () =>
    existsSync(path)
      ? readFileSync(path, "utf8")
          .split("\n")
          .filter((line) => line !== "")
      : [];
  return {
    charge: (amount) => {
      const mark = randomUUID();
      // One write behind whatever is there: two processes cannot mix their lines.
      appendFileSync(path, `${amount} ${mark}\n`);
      return { number: lines().findIndex((line) => line.endsWith(mark)) + 1, amount };
    },
    charges: () =>
      lines().map((line, index) => ({ number: index + 1, amount: Number.parseFloat(line) })),
  };
}
