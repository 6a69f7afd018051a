import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { parseServeOptions } from "./command-line.ts";
import { type ServeOptions, serveOptionRows, variableOf } from "./serve-options.ts";

const minute = 60_000;

function options(argv: string, env: Record<string, string> = {}): ServeOptions {
  const outcome = parseServeOptions(argv.split(" ").filter(Boolean), env);
  if (outcome.kind === "wrong") throw new Error(outcome.problem);
  return outcome.options;
}

function problem(argv: string, env: Record<string, string> = {}): string {
  const outcome = parseServeOptions(argv.split(" ").filter(Boolean), env);
  if (outcome.kind === "options") throw new Error("these options were taken");
  return `${outcome.problem} ${outcome.fix ?? ""}`;
}

/** Where an option stands in what is read. */
const readers: Record<string, (options: ServeOptions) => unknown> = {
  host: (o) => o.host,
  port: (o) => o.port,
  path: (o) => o.runtime.path,
  log: (o) => o.log,
  durability: (o) => o.log,
  window: (o) => o.runtime.retention.windowMs,
  "max-events": (o) => o.runtime.retention.maxEvents,
  "max-bytes": (o) => o.runtime.retention.maxBytes,
  "idle-ttl": (o) => o.runtime.idleTtlMs,
  "client-reconnect": (o) => o.runtime.clientReconnectMs,
  heartbeat: (o) => o.runtime.heartbeatMs,
  retry: (o) => o.runtime.retryMs,
  "viewport-max": (o) => o.runtime.viewportMaxMs,
  "gap-signal": (o) => o.runtime.gapSignal,
  "no-prime": (o) => o.runtime.noPrime,
  "allowed-origin": (o) => o.runtime.allowedOrigins,
  "allowed-host": (o) => o.runtime.allowedHosts,
  "log-level": (o) => o.logLevel,
};

const file = { kind: "sqlite", path: "./holdfast.db", durability: "process" };

/** Option, its default, a text for it, and what that is read as. */
const table: readonly [name: string, fallback: unknown, text: string, value: unknown][] = [
  ["host", "127.0.0.1", "::1", "::1"],
  ["port", 8848, "0", 0],
  ["path", "/mcp", "/a/b", "/a/b"],
  ["log", file, "sqlite:/var/x.db", { ...file, path: "/var/x.db" }],
  ["log", file, "sqlite:///var/x.db", { ...file, path: "/var/x.db" }],
  ["log", file, "memory:", { kind: "memory" }],
  ["durability", file, "power", { ...file, durability: "power" }],
  ["window", 30 * minute, "2h", 120 * minute],
  ["max-events", 10_000, "100", 100],
  ["max-bytes", 64 * 2 ** 20, "4mb", 4 * 2 ** 20],
  ["idle-ttl", 30 * minute, "10m", 10 * minute],
  ["client-reconnect", 3 * minute, "5m", 5 * minute],
  ["heartbeat", 15_000, "0", 0],
  ["retry", 1000, "250ms", 250],
  ["viewport-max", 0, "25s", 25_000],
  ["gap-signal", "auto", "in-band", "in-band"],
  ["no-prime", [], "old-client", ["old-client"]],
  ["allowed-origin", [], "https://a.example", ["https://a.example"]],
  ["allowed-host", [], "mcp.example:8443", ["mcp.example:8443"]],
  ["log-level", "info", "debug", "debug"],
];

test.each(table)(
  "--%s and its variable: default, value, and which wins",
  (name, fallback, text, value) => {
    const read = readers[name];
    if (read === undefined) throw new Error(`no reader for --${name}`);
    const variable = variableOf(name);
    expect(read(options(""))).toEqual(fallback);
    expect(read(options(`--${name} ${text}`))).toEqual(value);
    expect(read(options(`--${name}=${text}`))).toEqual(value);
    expect(read(options("", { [variable]: text }))).toEqual(value);
    expect(read(options("", { [variable]: "" })), "an empty variable is none").toEqual(fallback);
    expect(read(options(`--${name} ${text}`, { [variable]: "nonsense" }))).toEqual(value);
  },
);

test("the table above has every option", () => {
  expect(new Set(table.map(([name]) => name))).toEqual(new Set(serveOptionRows.map((r) => r.name)));
});

test("lists: repeated on the line, by comma in a variable, and the line replaces the variable", () => {
  const { runtime } = options("--no-prime a --no-prime b,c", { HOLDFAST_ALLOWED_HOST: "x, y:1,," });
  expect(runtime.noPrime).toEqual(["a", "b,c"]);
  expect(runtime.allowedHosts).toEqual(["x", "y:1"]);
  expect(options("--no-prime a", { HOLDFAST_NO_PRIME: "b" }).runtime.noPrime).toEqual(["a"]);
});

test("of a repeated single option the last counts", () => {
  expect(options("--port 1 --port 2").port).toBe(2);
});

test.each([
  ["--port 70000", {}, /--port: "70000" is no whole number from 0 to 65535/],
  ["--window 5", {}, /--window: "5" is no duration; write it like/],
  ["--max-bytes lots", {}, /--max-bytes: "lots" is no size/],
  ["--max-events 0", {}, /--max-events: "0" is no whole number/],
  ["--path mcp", {}, /--path: "mcp" is no path/],
  ["--path /a?b", {}, /--path/],
  ["--gap-signal loud", {}, /--gap-signal: "loud" is not one of auto, status, in-band/],
  ["", { HOLDFAST_PORT: "x" }, /HOLDFAST_PORT: "x"/],
  [
    "--log redis://h",
    {},
    /--log: "redis:\/\/h" is no log of this version; it has sqlite:FILE and memory:/,
  ],
  ["--log postgres://me:secret@h/d", {}, /^(?!.*secret).*no log of this version/],
  ["--log sqlite:", {}, /no log of this version/],
  ["--log memory: --durability power", {}, /--durability belongs to a sqlite: log/],
  ["--log memory:", { HOLDFAST_DURABILITY: "process" }, /--durability belongs to a sqlite: log/],
  ["--durability memory", {}, /--durability: "memory" is not one of process, power/],
  ["--prot 1", {}, /Unknown option '--prot'.*--port/],
  ["--port", {}, /argument missing/],
  ["node x.js", {}, /Put -- before the command: holdfast serve \[options\] -- node x.js/],
])("%s is refused with the reason and the fix", (argv, env, sentence) => {
  expect(problem(argv, env as Record<string, string>)).toMatch(sentence);
});

test(`${verifies("W-02")}a window that clients can outlast is refused, with both numbers and the fix`, () => {
  const tooShort = problem("--window 3m");
  for (const part of ["3m", "--window", "--client-reconnect"]) expect(tooShort).toContain(part);
  const belowIdle = problem("--window 10m");
  for (const part of ["10m", "30m", "--idle-ttl", "--window"]) expect(belowIdle).toContain(part);
  expect(options("--window 27m").runtime.retention.windowMs).toBe(27 * minute);
  expect(problem("--window 27m", { HOLDFAST_CLIENT_RECONNECT: "2m" })).toContain("28m");
});
