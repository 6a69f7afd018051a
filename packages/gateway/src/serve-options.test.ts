import { defaultOptions } from "@holdfast/server";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { parseServeOptions } from "./command-line.ts";
import { runtimeOptionRows, variableOf } from "./option-rows.ts";
import type { ServeOptions } from "./serve-options.ts";

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
  "public-url": (o) => o.publicUrl,
  auth: (o) => o.auth,
  audience: (o) => o.audience,
  "admin-port": (o) => o.admin.port,
  "admin-host": (o) => o.admin.host,
  "admin-token": (o) => o.admin.token,
  "show-bodies": (o) => o.admin.showsBodies,
  "idempotency-ttl": (o) => o.runtime.idempotencyTtlMs,
  hibernate: (o) => o.runtime.hibernateMs,
  lease: (o) => o.runtime.leaseMs,
  "max-body": (o) => o.runtime.bodyBytesMax,
  "max-event": (o) => o.eventBytesMax,
  "max-sessions": (o) => o.runtime.sessionsMax,
  "max-sessions-per-principal": (o) => o.runtime.sessionsPerPrincipalMax,
  "max-streams": (o) => o.runtime.streamsPerSessionMax,
  "max-calls": (o) => o.runtime.callsPerSessionMax,
  "max-key-bytes": (o) => o.runtime.ledgerBytesMax,
  "max-viewports": (o) => o.runtime.viewportsMax,
  "header-timeout": (o) => o.requests.headersMs,
  "body-timeout": (o) => o.requests.wholeRequestMs,
  "keep-alive": (o) => o.requests.keepAliveMs,
  "drain-timeout": (o) => o.drainTimeoutMs,
};

const file = { kind: "sqlite", path: "./holdfast.db", durability: "process" };

/** Option, its default, a text for it, and what that is read as. */
const table: readonly [name: string, fallback: unknown, text: string, value: unknown][] = [
  ["host", "127.0.0.1", "::1", "::1"],
  ["port", 8848, "0", 0],
  ["path", "/mcp", "/a/b", "/a/b"],
  ["admin-port", "auto", "9000", 9000],
  ["admin-port", "auto", "0", "off"],
  ["admin-host", "127.0.0.1", "::1", "::1"],
  ["admin-token", undefined, "a-token-of-sixteen", "a-token-of-sixteen"],
  ["log", file, "sqlite:/var/x.db", { ...file, path: "/var/x.db" }],
  ["log", file, "postgres://u:p@h/d", { kind: "postgres", url: "postgres://u:p@h/d" }],
  [
    "log",
    file,
    "postgresql://h/d?schema=x",
    { kind: "postgres", url: "postgresql://h/d?schema=x" },
  ],
  [
    "log",
    file,
    "rediss://u:p@h:1/2?prefix=x",
    { kind: "redis", url: "rediss://u:p@h:1/2?prefix=x", isStrict: false },
  ],
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
  ["public-url", undefined, "https://mcp.example", "https://mcp.example/mcp"],
  ["public-url", undefined, "https://mcp.example/", "https://mcp.example/mcp"],
  ["public-url", undefined, "https://MCP.example/a/b", "https://mcp.example/a/b"],
  ["auth", { kind: "none" }, "none", { kind: "none" }],
  ["auth", { kind: "none" }, "bearer:./t.txt", { kind: "bearer", file: "./t.txt" }],
  ["auth", { kind: "none" }, "jwt:https://a.b/c", { kind: "jwt", issuer: "https://a.b/c" }],
  ["auth", { kind: "none" }, "jwt:http://[::1]:9", { kind: "jwt", issuer: "http://[::1]:9" }],
  ["idempotency-ttl", 24 * 60 * minute, "1h", 60 * minute],
  ["hibernate", 0, "5m", 5 * minute],
  ["lease", 10_000, "3s", 3_000],
  ["max-body", 4 * 2 ** 20, "64kb", 64 * 2 ** 10],
  ["max-event", 32 * 2 ** 20, "1mb", 2 ** 20],
  ["max-sessions", 10_000, "5", 5],
  ["max-sessions-per-principal", 1000, "5", 5],
  ["max-streams", 256, "5", 5],
  ["max-calls", 256, "5", 5],
  ["max-key-bytes", 2 ** 30, "1mb", 2 ** 20],
  ["max-viewports", 20_000, "5", 5],
  ["header-timeout", 10_000, "5s", 5000],
  ["body-timeout", 60_000, "2m", 2 * minute],
  ["keep-alive", 65_000, "5s", 5000],
  ["drain-timeout", 30_000, "0", 0],
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

test("--audience and its variable: default, value, and which wins", () => {
  const audience = (argv: string, env = {}) =>
    options(`--auth jwt:https://id.example ${argv}`, env).audience;
  expect(audience("")).toBe(undefined);
  expect(audience("--audience api://x")).toBe("api://x");
  expect(audience("", { HOLDFAST_AUDIENCE: "api://x" })).toBe("api://x");
  expect(audience("--audience api://x", { HOLDFAST_AUDIENCE: "api://y" })).toBe("api://x");
});

test("--show-bodies is said or not", () => {
  expect(options("").admin.showsBodies).toBe(false);
  expect(options("--show-bodies").admin.showsBodies).toBe(true);
  expect(options("", { HOLDFAST_SHOW_BODIES: "yes" }).admin.showsBodies).toBe(true);
});

test(`${verifies("P-01")}beyond loopback the admin port wants a token that cannot be guessed`, () => {
  const token = { HOLDFAST_ADMIN_TOKEN: "0123456789abcdef" };
  expect(options("--admin-host 0.0.0.0", token).admin.host).toBe("0.0.0.0");
  expect(problem("--admin-host 0.0.0.0")).toMatch(/others can reach it, and there is no token/);
  expect(problem("--admin-host 10.0.0.1 --admin-token short")).toMatch(/too short/);
  expect(options("--admin-host 0.0.0.0 --admin-port 0").admin.port).toBe("off");
});

test("--strict goes with a redis log", () => {
  const { log } = options("--log redis://h --strict");
  expect(log).toEqual({ kind: "redis", url: "redis://h", isStrict: true });
});

test("every option has a row above", () => {
  const tested = new Set([...table.map(([name]) => name), "audience", "show-bodies", "strict"]);
  // Those of a server at a URL are tried in command-line.test.ts.
  expect(tested).toEqual(new Set(runtimeOptionRows.map((r) => r.name)));
});

test("the defaults of the help are those of the session runtime", () => {
  const { runtime } = options("");
  expect(runtime).toEqual({ ...defaultOptions, path: "/mcp", sharesKeys: true });
});

test(`${verifies("X-03")}keys are shared only on loopback, and only where nobody is asked who he is`, () => {
  const isShared = (argv: string) => options(argv).runtime.sharesKeys;
  for (const host of ["127.0.0.1", "127.0.0.2", "::1", "localhost"]) {
    expect(isShared(`--host ${host}`)).toBe(true);
  }
  for (const argv of ["--host 0.0.0.0", "--host ::", "--host 10.0.0.1", "--auth bearer:f"]) {
    expect(isShared(argv)).toBe(false);
  }
});

test("the headers of a request have no more time than the whole of it", () => {
  expect(options("--body-timeout 3s").requests.headersMs).toBe(3000);
});

test("lists: repeated on the line, by comma in a variable, and the line replaces the variable", () => {
  const { runtime } = options("--no-prime a --no-prime b,c", { HOLDFAST_ALLOWED_HOST: "x, y:1,," });
  expect(runtime.noPrime).toEqual(["a", "b,c"]);
  expect(runtime.allowedHosts).toEqual(["x", "y:1"]);
  expect(options("--no-prime a", { HOLDFAST_NO_PRIME: "b" }).runtime.noPrime).toEqual(["a"]);
});

test(`${verifies("P-01")}origins and hosts are taken as browsers send them`, () => {
  const { runtime } = options(
    "--allowed-origin HTTPS://A.example:443/ --allowed-origin http://[::2]:9 " +
      "--allowed-host Mcp.example --allowed-host [::2]:80 --allowed-host my_host:1",
  );
  expect(runtime.allowedOrigins).toEqual(["https://a.example", "http://[::2]:9"]);
  expect(runtime.allowedHosts).toEqual(["Mcp.example", "[::2]:80", "my_host:1"]);
});

test("of a repeated single option the last counts", () => {
  expect(options("--port 1 --port 2").port).toBe(2);
});

test.each([
  ["--port 70000", {}, /--port: "70000" is no whole number from 0 to 65535/],
  ["--window 5", {}, /--window: "5" is no duration; write it like/],
  ["--max-bytes lots", {}, /--max-bytes: "lots" is no size/],
  ["--max-events 0", {}, /--max-events: "0" is no whole number/],
  ["--admin-port 70000", {}, /--admin-port: "70000" is no whole number .*; or auto/],
  ["--path mcp", {}, /--path: "mcp" is no path/],
  [
    "--allowed-origin notaurl",
    {},
    /--allowed-origin: "notaurl" is no origin; write it like https:/,
  ],
  ["--allowed-origin *", {}, /"\*" is no origin/],
  ["--allowed-origin null", {}, /"null" is no origin/],
  ["--allowed-origin https://a.example/app", {}, /write it like https:\/\/a\.example\./],
  ["--allowed-origin https://me:secret@a.example", {}, /^(?!.*secret).*is no origin/],
  ["", { HOLDFAST_ALLOWED_ORIGIN: "https://a, b" }, /HOLDFAST_ALLOWED_ORIGIN: "b" is no origin/],
  ["--allowed-host http://x", {}, /--allowed-host: "http:\/\/x" is no host; write it like x\./],
  ["--allowed-host x/y", {}, /"x\/y" is no host/],
  ["--allowed-host *", {}, /"\*" is no host/],
  ["--allowed-host ::1", {}, /write it like \[::1\]/],
  ["", { HOLDFAST_ALLOWED_HOST: "x,y:port" }, /HOLDFAST_ALLOWED_HOST: "y:port" is no host/],
  ["--path /a?b", {}, /--path/],
  ["--gap-signal loud", {}, /--gap-signal: "loud" is not one of auto, status, in-band/],
  ["", { HOLDFAST_PORT: "x" }, /HOLDFAST_PORT: "x"/],
  ["--log redis://", {}, /redis:.*names no server; write it like/],
  ["--log redis://h --durability power", {}, /--durability belongs to a sqlite: log; what a redis/],
  ["--log memory: --strict", {}, /--strict belongs to a redis: log/],
  ["--log postgres://me:secret@h", {}, /^(?!.*secret).*postgres:.*names no database/],
  ["--log mysql://me:secret@h/d", {}, /^(?!.*secret).*no log of this version/],
  ["--log sqlite:", {}, /no log of this version/],
  ["--log memory: --durability power", {}, /--durability belongs to a sqlite: log/],
  ["--log redis://h --max-key-bytes 1mb", {}, /--max-key-bytes belongs to a sqlite: or memory:/],
  ["--log postgres://h/d --max-key-bytes 1mb", {}, /--max-key-bytes belongs to a sqlite: or mem/],
  ["--log postgres://h/d --durability power", {}, /--durability belongs to a sqlite: log; what/],
  ["--log memory:", { HOLDFAST_DURABILITY: "process" }, /--durability belongs to a sqlite: log/],
  ["--durability memory", {}, /--durability: "memory" is not one of process, power/],
  ["--auth basic", {}, /--auth: "basic" is none of none, bearer:FILE, jwt:ISSUER/],
  ["--auth bearer:", {}, /--auth: "bearer:" is none of/],
  ["--auth jwt:http://id.example", {}, /is no issuer; write it .* https/],
  ["--auth jwt:https://me:secret@id.example", {}, /^(?!.*secret).*is no issuer/],
  ["--auth jwt:https://id.example?x", {}, /is no issuer/],
  ["--audience x", {}, /--audience belongs to --auth jwt:ISSUER; --auth is none/],
  ["--auth bearer:f", { HOLDFAST_AUDIENCE: "x" }, /--audience belongs to .* is bearer/],
  ["--auth jwt:https://id.example --host ::", {}, /what tokens must be made for .*--public-url/],
  ["--public-url mcp.example", {}, /--public-url: "mcp.example" is no URL/],
  ["--public-url ftp://mcp.example", {}, /is no URL/],
  ["--public-url https://mcp.example/?a", {}, /is no URL/],
  ["--public-url https://me:secret@mcp.example", {}, /^(?!.*secret).*is no URL/],
  ["--max-body 1000", {}, /--max-body: 1000 is too small; the least is 1 KB/],
  ["--max-event 1gb", {}, /--max-event: 1gb is too large; the most is 256 MB/],
  ["--max-sessions 0", {}, /--max-sessions: "0" is no whole number/],
  ["--header-timeout 0", {}, /--header-timeout: 0 is too short/],
  ["--body-timeout 0s", {}, /--body-timeout: 0s is too short/],
  ["--keep-alive 0", {}, /--keep-alive: 0 is too short/],
  ["--idempotency-ttl 0", {}, /--idempotency-ttl: 0 is too short/],
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
