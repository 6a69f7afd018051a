/** Compares the clauses and cases that there are with those that tests prove. Reads no files. */

/** One `verifies("R-03", …)` in a test. */
export interface Proof {
  readonly id: string;
  readonly path: string;
  readonly line: number;
}

/** `"tested"`, or the part that will test it; `begun`: some of it is tested already. */
export type CaseState = "tested" | { readonly part: number; readonly begun?: boolean };

export interface ClauseBook {
  /** Ids of the contract's clauses, in its order. */
  readonly clauses: readonly string[];
  /** Clauses not in force yet: `"part 3"`, or `"part 3, begun"` when some of it is tested. */
  readonly pending: Readonly<Record<string, string>>;
  /** Ids of the cases from the field. */
  readonly cases: readonly string[];
  readonly caseStates: Readonly<Record<string, CaseState>>;
}

export interface ClauseReport {
  readonly problems: readonly string[];
  readonly clausesProven: number;
  readonly clausesPending: number;
  readonly casesTested: number;
}

export const pendingFile = "docs/clauses-pending.json";
export const casesFile = "docs/cases.json";

/** @returns every id that is unproven, unknown, or listed wrongly, with what to do */
export function clauseReport(book: ClauseBook, proofs: readonly Proof[]): ClauseReport {
  const proven = new Set(proofs.map(({ id }) => id));
  const known = new Set([...book.clauses, ...book.cases]);
  const problems = [
    ...proofs
      .filter(({ id }) => !known.has(id))
      .map(({ id, path, line }) => `${path}:${line}: "${id}" is no clause and no case`),
    ...Object.keys(book.pending)
      .filter((id) => !book.clauses.includes(id))
      .map((id) => `${pendingFile}: "${id}" is no clause of the contract`),
    ...Object.keys(book.caseStates)
      .filter((id) => !book.cases.includes(id))
      .map((id) => `${casesFile}: "${id}" is no case`),
    ...book.clauses.flatMap((id) => clauseProblem(id, book.pending[id], proven.has(id)) ?? []),
    ...book.cases.flatMap((id) => caseProblem(id, book.caseStates[id], proven.has(id)) ?? []),
  ];
  return {
    problems,
    clausesProven: book.clauses.filter((id) => proven.has(id)).length,
    clausesPending: book.clauses.filter((id) => id in book.pending).length,
    casesTested: book.cases.filter((id) => proven.has(id)).length,
  };
}

function clauseProblem(id: string, pending: string | undefined, isProven: boolean) {
  if (pending === undefined) {
    return isProven ? undefined : `${id} is in force, and no test proves it: verifies("${id}")`;
  }
  const match = /^part [1-9](, begun)?$/.exec(pending);
  if (match === null) return `${pendingFile}: ${id} must be "part N" or "part N, begun"`;
  return pendingProblem(pendingFile, id, match[1] !== undefined, isProven);
}

function caseProblem(id: string, state: CaseState | undefined, isProven: boolean) {
  if (state === undefined) return `${casesFile}: ${id} is missing: "tested" or { "part": N }`;
  if (state === "tested") {
    return isProven ? undefined : `${id} is "tested" in ${casesFile}, and no test cites it`;
  }
  return pendingProblem(casesFile, id, state.begun === true, isProven);
}

function pendingProblem(file: string, id: string, isBegun: boolean, isProven: boolean) {
  if (isBegun === isProven) return undefined;
  return isBegun
    ? `${file}: ${id} is called begun, and no test cites it`
    : `${file}: ${id} is waiting, and a test cites it: call it begun, or put it in force`;
}
