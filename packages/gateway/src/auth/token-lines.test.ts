import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { parseTokenLines, subjectOf } from "./token-lines.ts";

test("lines are token and subject; comments and empty lines are none", () => {
  const parsed = parseTokenLines("# who\n\nsecret-1 alice\r\n  secret-2\tbob  \r#secret-3 eve\n");
  if (!parsed.ok) throw new Error(parsed.problem);
  const subjects = ["secret-1", "secret-2", "secret-3", "#secret-3", "secret-", "secret-11", ""];
  expect(subjects.map((token) => subjectOf(parsed.value, token))).toEqual([
    ...["alice", "bob"],
    ...[undefined, undefined, undefined, undefined, undefined],
  ]);
});

test("several tokens may name one subject: so a token is changed without a break", () => {
  const parsed = parseTokenLines("old alice\nnew alice");
  expect(parsed.ok && subjectOf(parsed.value, "old")).toBe("alice");
  expect(parsed.ok && subjectOf(parsed.value, "new")).toBe("alice");
});

test.each([
  ["", "it holds no token"],
  ["# none\n\n", "it holds no token"],
  ["s3cret alice\ns3cret2", "line 2 has no subject; write TOKEN SUBJECT"],
  ["s3cret alice # a laptop", "line 1 has more than two words; write TOKEN SUBJECT"],
  ['\n"s3cret" alice', "line 2 has a token that no client can send"],
  ["s3cret alice\ns3cret bob", "line 2 repeats a token of an earlier line"],
])(`${verifies("P-03")}%j is refused with its line, and without its token`, (text, problem) => {
  const parsed = parseTokenLines(text);
  if (parsed.ok) throw new Error("it was taken");
  expect(parsed.problem).toContain(problem);
  expect(parsed.problem).not.toContain("s3cret");
});
