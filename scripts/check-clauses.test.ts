import { expect, test } from "vitest";
import { clausesOf, proofsOf } from "./check-clauses.ts";
import { type ClauseBook, clauseReport } from "./clause-report.ts";

const book: ClauseBook = {
  clauses: ["A-01", "A-02", "B-01"],
  pending: { "B-01": "part 2" },
  cases: ["c001", "c002"],
  caseStates: { c001: "tested", c002: { part: 3 } },
};
const proofs = ["A-01", "A-02", "c001"].map((id) => ({ id, path: "x.test.ts", line: 1 }));
const proof = (id: string) => ({ id, path: "y.test.ts", line: 7 });
const problems = (change: Partial<ClauseBook>, seen = proofs) =>
  clauseReport({ ...book, ...change }, seen).problems;

test("a book that agrees with its tests has no problem", () => {
  expect(clauseReport(book, proofs)).toEqual({
    problems: [],
    clausesProven: 2,
    clausesPending: 1,
    casesTested: 1,
  });
});

test("a clause in force needs a test, a waiting one must have none", () => {
  expect(problems({}, proofs.slice(1))).toEqual([expect.stringContaining("A-01 is in force")]);
  expect(problems({}, [...proofs, proof("B-01")])).toEqual([
    expect.stringContaining("B-01 is waiting, and a test cites it"),
  ]);
});

test("a clause that is begun needs a test", () => {
  const begun = { pending: { "B-01": "part 2, begun" } };
  expect(problems(begun, [...proofs, proof("B-01")])).toEqual([]);
  expect(problems(begun)).toEqual([expect.stringContaining("B-01 is called begun")]);
  expect(problems({ pending: { "B-01": "later" } })).toEqual([
    expect.stringContaining('must be "part N"'),
  ]);
});

test("cases are held to the same", () => {
  expect(problems({}, proofs.slice(0, 2))).toEqual([expect.stringContaining('c001 is "tested"')]);
  expect(problems({}, [...proofs, proof("c002")])).toEqual([
    expect.stringContaining("c002 is waiting"),
  ]);
  expect(problems({ caseStates: { c001: "tested" } })).toEqual([
    expect.stringContaining("c002 is missing"),
  ]);
});

test("ids that nobody knows are named with their place", () => {
  expect(problems({}, [...proofs, proof("A-99")])).toEqual([
    'y.test.ts:7: "A-99" is no clause and no case',
  ]);
  expect(problems({ pending: { ...book.pending, "Z-01": "part 1" } })).toHaveLength(1);
  expect(problems({ caseStates: { ...book.caseStates, c999: "tested" } })).toHaveLength(1);
});

test("clauses are read from the contract, proofs from calls and not from text", () => {
  expect(
    clausesOf("# T\n- **S-01** One (S-02).\n\n- **E-10** Two **E-11**\n - **X-01** no\n"),
  ).toEqual(["S-01", "E-10"]);
  const text = '// verifies("A-02")\ntest(verifies("A-01", "c001") + "x", () => {});\n';
  expect(proofsOf({ path: "t.test.ts", text })).toEqual([
    { id: "A-01", path: "t.test.ts", line: 2 },
    { id: "c001", path: "t.test.ts", line: 2 },
  ]);
  const computed = { path: "t.test.ts", text: "test(verifies(id), () => {})" };
  expect(() => proofsOf(computed)).toThrow("t.test.ts:1: verifies takes ids written out");
});
