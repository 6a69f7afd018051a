/**
 * Fails on a clause of docs/contract.md that is in force and that no test proves:
 * `node scripts/check-clauses.ts`; with `--list` it prints who proves what.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ClauseBook,
  casesFile,
  clauseReport,
  type Proof,
  pendingFile,
} from "./clause-report.ts";
import {
  isNode,
  lineOf,
  type SourceFile,
  type SyntaxNode,
  sourceFiles,
  stringOf,
  syntaxNodes,
} from "./source-files.ts";

/** Ids of the clauses: lines that begin `- **R-03** `. */
export function clausesOf(contract: string): string[] {
  return [...contract.matchAll(/^- \*\*([A-Z]-\d{2})\*\*/gm)].map((match) => match[1] as string);
}

/** The `verifies` calls of a file. @throws Error on one whose ids are not written out */
export function proofsOf(file: SourceFile): Proof[] {
  if (!file.text.includes("verifies(")) return [];
  return syntaxNodes(file).flatMap((node) => {
    if (node.type !== "CallExpression" || !isNode(node.callee)) return [];
    if (node.callee.name !== "verifies") return [];
    const line = lineOf(file.text, node);
    return (node.arguments as SyntaxNode[]).map((argument) => {
      const id = stringOf(argument);
      if (id !== undefined) return { id, path: file.path, line };
      throw new Error(`${file.path}:${line}: verifies takes ids written out: verifies("R-03")`);
    });
  });
}

function readBook(root: string): ClauseBook {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const cases = read("packages/testkit/vectors/cases.jsonl").trim().split("\n");
  return {
    clauses: clausesOf(read("docs/contract.md")),
    pending: JSON.parse(read(pendingFile)) as ClauseBook["pending"],
    cases: cases.map((line) => (JSON.parse(line) as { id: string }).id),
    caseStates: JSON.parse(read(casesFile)) as ClauseBook["caseStates"],
  };
}

/** Clauses first, then cases, each with its number of tests and their files. */
function list({ clauses, cases }: ClauseBook, proofs: readonly Proof[]): void {
  for (const id of [...clauses, ...cases]) {
    const places = proofs.filter((proof) => proof.id === id).map(({ path }) => path);
    console.log(`${id} ${places.length}  ${[...new Set(places)].join(" ")}`.trimEnd());
  }
}

function main(root: string): void {
  const book = readBook(root);
  const proofs = sourceFiles(root).flatMap(proofsOf);
  if (process.argv.includes("--list")) list(book, proofs);
  const report = clauseReport(book, proofs);
  for (const problem of report.problems) console.error(problem);
  const verdict = report.problems.length === 0 ? "ok" : `${report.problems.length} problems`;
  const { clausesProven, clausesPending, casesTested } = report;
  console.log(
    `clauses: ${clausesProven} of ${book.clauses.length} proven, ${clausesPending} not in force; ` +
      `cases: ${casesTested} of ${book.cases.length} tested; ${verdict}`,
  );
  process.exitCode = report.problems.length === 0 ? 0 : 1;
}

if (import.meta.main) main(join(import.meta.dirname, ".."));
