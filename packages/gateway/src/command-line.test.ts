import { describe, expect, test } from "vitest";
import { type Invocation, parseCommandLine } from "./command-line.ts";

function parse(...argv: string[]): Invocation {
  return parseCommandLine(argv, {}, "1.2.3");
}

function textOf(invocation: Invocation): string {
  if (invocation.kind !== "text") throw new Error(`a text was expected, not ${invocation.kind}`);
  return invocation.text;
}

/** Lines and columns. */
function extent(text: string): [lines: number, columns: number] {
  const lines = text.trimEnd().split("\n");
  return [lines.length, Math.max(...lines.map((line) => line.length))];
}

test("what follows -- is the command, word by word", () => {
  const invocation = parse(
    "serve",
    "--port",
    "0",
    "--",
    "node",
    "a b.js",
    "--port",
    "9",
    "--",
    "-h",
  );
  expect(invocation).toMatchObject({
    kind: "serve",
    options: { port: 0 },
    served: { kind: "command", command: "node", args: ["a b.js", "--port", "9", "--", "-h"] },
  });
});

test.each([[["--help"]], [["-h"]], [[]]])("the help of %j fits a screen", (argv) => {
  const text = textOf(parse(...argv));
  expect(text).toContain("serve");
  expect(text).toContain("demo");
  const [lines, columns] = extent(text);
  expect(lines).toBeLessThanOrEqual(24);
  expect(columns).toBeLessThanOrEqual(100);
});

test.each([[["serve", "--help"]], [["demo", "serve", "--help"]]])("so does that of %j", (argv) => {
  const text = textOf(parse(...argv));
  expect(text).toContain("--no-prime <NAME>");
  expect(text).toMatch(/--window <TIME> .*\(30m\)/);
  const [lines, columns] = extent(text);
  expect(text.endsWith("\n")).toBe(true);
  expect(lines).toBeLessThanOrEqual(50);
  expect(columns).toBeLessThanOrEqual(100);
});

test("the help of connect fits a screen of its own", () => {
  const text = textOf(parse("connect", "--help"));
  expect(text).toMatch(/^Usage: holdfast connect \[options\] URL\n/);
  expect(text).toContain("--no-reattach ");
  expect(text).toMatch(/--reconnect-budget <TIME> .*\(2m\)/);
  const [lines, columns] = extent(text);
  expect(lines).toBeLessThanOrEqual(30);
  expect(columns).toBeLessThanOrEqual(100);
});

test("the version", () => {
  expect(textOf(parse("--version")).trim()).toBe("1.2.3");
});

test("demo serve has a log of its own, and takes the options of serve", () => {
  expect(parse("demo", "serve", "--port", "0")).toMatchObject({
    kind: "demo-serve",
    options: { port: 0, log: { kind: "sqlite", path: "./.holdfast/holdfast.db" } },
  });
  expect(parse("demo", "serve", "--log", "memory:")).toMatchObject({
    options: { log: { kind: "memory" } },
  });
});

test.each([
  [["serve"], /no command to serve/, /holdfast serve -- node server.js/],
  [["serve", "--"], /no command to serve/, /holdfast serve --/],
  [["serve", "--", ""], /no command to serve/, /holdfast serve --/],
  [["srve"], /Unknown command 'srve'/, /serve/],
  [["demo", "serve", "--", "x"], /demo serve takes no command/, /holdfast serve -- x/],
  [["demo", "serve", "x"], /Too many arguments|takes no/, /./],
  [["sessions", "show"], /show which session\?/, /NAME is a tag or an id/],
  [["sessions", "burn"], /"burn" is nothing that sessions does/, /list, or show NAME/],
  [["sessions", "end", "a", "b"], /"b" is one word too many/, /end NAME/],
  [["sessions", "end", "a", "--watch"], /--watch belongs to list and show/, /Leave it out/],
  [["sessions", "--admin-url", "x"], /--admin-url: "x" is no URL/, /sessions --help/],
  [["--nonsense"], /Unknown option '--nonsense'/, /--help/],
])("%j is wrong use", (argv, problem, fix) => {
  const invocation = parse(...argv);
  if (invocation.kind !== "wrong") throw new Error("it was taken");
  expect(invocation.problem).toMatch(problem);
  expect(invocation.fix).toMatch(fix);
});

describe("serve --upstream", () => {
  const url = "https://mcp.example/mcp";

  test("takes a URL in place of a command, headers for it, and names of headers to pass on", () => {
    const words = ["--upstream-header", "Authorization: Bearer x", "--forward-header", "X-Trace"];
    const invocation = parse("serve", "--upstream", url, ...words);
    expect(invocation).toMatchObject({
      kind: "serve",
      served: { kind: "url", url: new URL(url), headers: { authorization: "Bearer x" } },
      options: { runtime: { forwardHeaders: ["x-trace"] } },
    });
  });

  test.each([
    [["--upstream", url, "--", "node", "s.js"], "in place of a command"],
    [["--upstream", "ftp://a"], "no http or https URL"],
    [["--upstream", "https://me:secret@a/"], "--upstream-header 'Authorization"],
    [["--upstream-header", "A: b", "--", "x"], "belongs to --upstream"],
    [["--forward-header", "a", "--", "x"], "belongs to --upstream"],
    [["--upstream", url, "--forward-header", "Mcp-Session-Id"], "set by holdfast itself"],
    [["--upstream", url, "--forward-header", "a b"], "no name of a header"],
    [["--upstream", url, "--upstream-header", "nonsense"], "a header is written like"],
    [["--upstream", url, "--upstream-header", "A: b", "--forward-header", "a"], "given by"],
  ])("%j is refused, without its secrets", (words, problem) => {
    const invocation = parse("serve", ...words);
    expect(invocation).toMatchObject({ kind: "wrong", problem: expect.stringContaining(problem) });
    expect(JSON.stringify(invocation)).not.toContain("secret");
  });

  test("the demo has its own server", () => {
    expect(parse("demo", "serve", "--upstream", url)).toMatchObject({ kind: "wrong" });
  });
});
