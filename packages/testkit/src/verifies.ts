/**
 * How a test names the clauses that it proves. `scripts/check-clauses.ts` reads these calls and
 * fails on a clause that no test proves.
 *
 * @param clauses - ids of clauses of docs/contract.md (`R-03`) or of cases (`c006`)
 * @returns the beginning of a test's name: `"[R-03 c006] "`
 */
export function verifies(...clauses: readonly string[]): string {
  return `[${clauses.join(" ")}] `;
}
