import { expect, test } from "vitest";
import { parseCommandLine } from "../command-line.ts";
import { variableOf } from "../option-rows.ts";
import { connectOptionRows } from "./option-rows.ts";
import type { ConnectOptions } from "./options.ts";

const url = "http://127.0.0.1:8848/mcp";
const home = { HOME: "/home/ada" };

function options(argv: readonly string[], env: Record<string, string> = {}): ConnectOptions {
  const invocation = parseCommandLine(["connect", ...argv], { ...home, ...env }, "");
  if (invocation.kind !== "connect") throw new Error(`not taken: ${JSON.stringify(invocation)}`);
  return invocation.options;
}

function problem(argv: readonly string[], env: Record<string, string> = {}): string {
  const invocation = parseCommandLine(["connect", ...argv], { ...home, ...env }, "");
  if (invocation.kind !== "wrong") throw new Error(`it was taken: ${argv.join(" ")}`);
  return `${invocation.problem} ${invocation.fix ?? ""}`;
}

/** What is read of an option; its default; a text, and what that is read as. */
const cases: Record<string, [(o: ConnectOptions) => unknown, unknown, string, unknown]> = {
  state: [(o) => o.stateFile, expect.stringContaining("/holdfast/"), "./s.db", "./s.db"],
  "no-reattach": [(o) => o.isReattaching, true, "true", false],
  strict: [(o) => o.isStrict, false, "yes", true],
  header: [(o) => o.headers, {}, "X-Team: blue, green", { "x-team": "blue, green" }],
  "reconnect-initial": [(o) => o.reconnect.initialDelayMs, 500, "20ms", 20],
  "reconnect-max": [(o) => o.reconnect.maxDelayMs, 30_000, "1m", 60_000],
  "reconnect-attempts": [(o) => o.reconnect.maxAttempts, 10, "3", 3],
  "reconnect-budget": [(o) => o.reconnect.maxElapsedMs, 120_000, "10s", 10_000],
  "log-level": [(o) => o.logLevel, "info", "debug", "debug"],
};

test("every option of the table is tried here", () => {
  expect(Object.keys(cases).toSorted()).toEqual(connectOptionRows.map((r) => r.name).toSorted());
});

test.each(Object.entries(cases))("--%s: default, option, variable", (name, [read, ...values]) => {
  const [fallback, text, value] = values;
  expect(read(options([url]))).toEqual(fallback);
  const isFlag = connectOptionRows.find((row) => row.name === name)?.value === "";
  const words = isFlag ? [`--${name}`] : [`--${name}`, text];
  expect(read(options([...words, url]))).toEqual(value);
  expect(read(options([url, ...words]))).toEqual(value);
  expect(read(options([url], { [variableOf(name)]: text }))).toEqual(value);
});

test("the option wins over its variable", () => {
  const env = { HOLDFAST_RECONNECT_ATTEMPTS: "4", HOLDFAST_HEADER: "X-A: env" };
  const read = options(["--reconnect-attempts", "5", "--header", "X-A: line", url], env);
  expect(read.reconnect.maxAttempts).toBe(5);
  expect(read.headers).toEqual({ "x-a": "line" });
});

test.each([
  ["X-A: 1, X-B: 2", { "x-a": "1", "x-b": "2" }],
  ["X-A: 1, 2,X-B: 3", { "x-a": "1, 2", "x-b": "3" }],
  ["Authorization: Bearer a.b\nX-B: 2", { authorization: "Bearer a.b", "x-b": "2" }],
  ["X-Links: http://a/, http://b/", { "x-links": "http://a/, http://b/" }],
  [" ", {}],
])("the variable %j as headers", (text, headers) => {
  expect(options([url], { HOLDFAST_HEADER: text }).headers).toEqual(headers);
});

test("a header given twice has both values", () => {
  const read = options(["--header", "X-A: 1", "--header", "x-a: 2", url]);
  expect(read.headers).toEqual({ "x-a": "1, 2" });
});

test("a state file for each URL, in the user's state directory", () => {
  const place = (text: string, env = {}) => options([text], env).stateFile;
  expect(place(url)).toMatch(/^\/home\/ada\/\.local\/state\/holdfast\/127\.0\.0\.1-\w{16}\.db$/);
  expect(place(url, { XDG_STATE_HOME: "/state" })).toMatch(/^\/state\/holdfast\//);
  expect(place(url, { XDG_STATE_HOME: "relative" })).toMatch(/^\/home\/ada\//);
  const places = [url, `${url}?a=1`, "http://127.0.0.1:8849/mcp", "https://mcp.example/mcp"];
  expect(new Set(places.map((one) => place(one))).size).toBe(places.length);
  expect(place(`${url}#here`)).toBe(place(url));
});

test.each([
  [[], /There is no URL/, /holdfast connect https:/],
  [["mcp.example/mcp"], /no http or https URL/, /https:\/\/mcp/],
  [["ftp://mcp.example/"], /no http or https URL/, /https:/],
  [["http://ada:secret@mcp.example/"], /holds a password/, /--header|https:/],
  [[url, url], /one word too many/, /--help/],
  [[url, "--", "node"], /connect takes no command/, /holdfast serve -- node/],
  [[url, "--nonsense"], /Unknown option '--nonsense'/, /holdfast connect --help/],
  [[url, "--strict=1"], /./, /./],
  [["--header", "nonsense", url], /--header: a header is written like/, /--help/],
  [["--header", "Mcp-Session-Id: 1", url], /"Mcp-Session-Id" is set by holdfast/, /--help/],
  [["--header", "content-type: a/b", url], /is set by holdfast/, /--help/],
  [["--header", "X-A: a\nb", url], /characters that no header may have/, /--help/],
  [["--reconnect-initial", "0", url], /--reconnect-initial: 0 is too short/, /connect --help/],
  [["--reconnect-attempts", "0", url], /--reconnect-attempts: /, /connect --help/],
  [["--reconnect-initial", "40s", url], /40000ms\) is longer than/, /shorter/],
])("%j is wrong use", (argv, what, fix) => {
  expect(problem(argv)).toMatch(what);
  expect(problem(argv)).toMatch(fix);
});

test("what is wrong with a variable is said of the variable, and no secret is shown", () => {
  expect(problem([url], { HOLDFAST_STRICT: "maybe" })).toMatch(/HOLDFAST_STRICT: "maybe"/);
  const text = problem([url], { HOLDFAST_HEADER: "Bearer secret" });
  expect(text).toMatch(/HOLDFAST_HEADER: /);
  expect(text).not.toContain("secret");
  expect(problem(["http://ada:secret@mcp.example/"])).not.toContain("secret");
});
