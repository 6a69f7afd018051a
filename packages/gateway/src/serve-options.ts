/**
 * The options of `holdfast serve`: one table from which come the command line, the `HOLDFAST_…`
 * variables, the defaults and the help; and the reading of them into values.
 *
 * Pure: arguments and environment come in, values or a sentence come out.
 */
import { checkRetention } from "@holdfast/contract";
import { defaultOptions, type RuntimeOptions } from "@holdfast/server";
import { type Parsed, parseDuration, parseSize, parseWhole } from "./units.ts";

/** The event logs of this version. */
export type LogChoice =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string; readonly durability: "process" | "power" };

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log: LogChoice;
  readonly logLevel: string;
  readonly runtime: RuntimeOptions;
}

/** What is wrong with a command line, and what to do where that is not said; a sentence each. */
export interface WrongUse {
  readonly problem: string;
  readonly fix?: string;
}

export type ServeOptionsOutcome =
  | { readonly kind: "options"; readonly options: ServeOptions }
  | ({ readonly kind: "wrong" } & WrongUse);

/** Texts of the command line, by the name of the option: each time that it was given. */
export type GivenOptions = Readonly<Record<string, readonly string[]>>;

export interface OptionRow {
  /** Without the dashes. */
  readonly name: string;
  readonly value: string;
  readonly fallback: string;
  readonly group: string;
  readonly help: string;
  /** May be given several times; its variable is a list by comma. */
  readonly isList?: true;
}

const where = "Where it listens:";
const kept = "What is kept, and for how long (per session):";
const wire = "On the wire:";
const access = "Who may ask:";
const other = "Other:";

export const serveOptionRows: readonly OptionRow[] = [
  row(where, "host", "ADDRESS", "127.0.0.1", "address to listen on"),
  row(where, "port", "PORT", "8848", "port; 0 for any free one"),
  row(where, "path", "PATH", "/mcp", "path of the MCP endpoint"),
  row(kept, "log", "WHERE", "sqlite:./holdfast.db", "the event log: sqlite:FILE, or memory:"),
  row(kept, "durability", "LEVEL", "process", "the loss that sqlite survives: process, or power"),
  row(kept, "window", "TIME", "30m", "how long events are kept, so how long clients may be away"),
  row(kept, "max-events", "N", "10000", "cap on events, results excepted"),
  row(kept, "max-bytes", "SIZE", "64mb", "cap on bytes"),
  row(kept, "idle-ttl", "TIME", "30m", "end a session that was idle for so long"),
  row(kept, "client-reconnect", "TIME", "3m", "the longest a client takes to come back"),
  row(wire, "heartbeat", "TIME", "15s", "a comment on each idle stream this often; 0 for none"),
  row(wire, "retry", "TIME", "1s", "how long clients wait before they reconnect"),
  row(wire, "viewport-max", "TIME", "0", "let each response go after so long; 0 for never"),
  row(wire, "gap-signal", "HOW", "auto", "how lost events are told: auto, status, in-band"),
  row(
    wire,
    "no-prime",
    "NAME",
    "",
    "no priming event for the client of this name (repeatable)",
    true,
  ),
  row(
    access,
    "allowed-origin",
    "ORIGIN",
    "",
    "allow this Origin beside loopback (repeatable)",
    true,
  ),
  row(access, "allowed-host", "HOST", "", "allow this Host beside loopback (repeatable)", true),
  row(other, "log-level", "LEVEL", "info", "trace, debug, info, warn, error, fatal, silent"),
];

/** The variable that stands for an option: `max-events` → `HOLDFAST_MAX_EVENTS`. */
export function variableOf(name: string): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Read the options of one start: command line over variable over default.
 *
 * @param given - what the command line says
 * @param env - the environment
 * @param fallbacks - other defaults for some of the options, by name
 * @returns the options, or what is wrong; never throws for what a user wrote
 */
export function readServeOptions(
  given: GivenOptions,
  env: Readonly<Record<string, string | undefined>>,
  fallbacks: Readonly<Record<string, string>> = {},
): ServeOptionsOutcome {
  const reader = createReader(given, env, fallbacks);
  const options: ServeOptions = {
    host: reader.text("host", nonEmpty),
    port: reader.text("port", (text) => parseWhole(text, 0, 65_535)),
    log: readLog(reader),
    logLevel: reader.text("log-level", oneOf(logLevels)),
    runtime: readRuntimeOptions(reader),
  };
  const wrong = reader.problems[0] ?? checkWindow(options.runtime);
  return wrong === undefined ? { kind: "options", options } : { kind: "wrong", ...wrong };
}

function readRuntimeOptions(reader: Reader): RuntimeOptions {
  return {
    ...defaultOptions,
    path: reader.text("path", parsePath),
    retention: {
      windowMs: reader.text("window", parseDuration),
      maxEvents: reader.text("max-events", (text) => parseWhole(text, 1, 1_000_000_000)),
      maxBytes: reader.text("max-bytes", parseSize),
    },
    idleTtlMs: reader.text("idle-ttl", parseDuration),
    clientReconnectMs: reader.text("client-reconnect", parseDuration),
    heartbeatMs: reader.text("heartbeat", parseDuration),
    retryMs: reader.text("retry", parseDuration),
    viewportMaxMs: reader.text("viewport-max", parseDuration),
    gapSignal: reader.text("gap-signal", oneOf(["auto", "status", "in-band"])),
    noPrime: reader.list("no-prime"),
    allowedOrigins: reader.list("allowed-origin"),
    allowedHosts: reader.list("allowed-host"),
  };
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

interface Reader {
  /** The first is what the user is told. */
  readonly problems: WrongUse[];
  isGiven(name: string): boolean;
  /** Read the one value of an option; after a problem, some value that nobody will see. */
  text<T>(name: string, parse: (text: string) => Parsed<T>): T;
  list(name: string): readonly string[];
}

function createReader(
  given: GivenOptions,
  env: Readonly<Record<string, string | undefined>>,
  fallbacks: Readonly<Record<string, string>>,
): Reader {
  const problems: WrongUse[] = [];
  const variable = (name: string) => env[variableOf(name)]?.trim() || undefined;
  const fallback = (name: string) =>
    fallbacks[name] ?? serveOptionRows.find((row) => row.name === name)?.fallback ?? "";
  return {
    problems,
    isGiven: (name) => given[name] !== undefined || variable(name) !== undefined,
    text: (name, parse) => {
      const onLine = given[name]?.at(-1);
      const text = onLine ?? variable(name) ?? fallback(name);
      const parsed = parse(text);
      if (parsed.ok) return parsed.value;
      const source = onLine === undefined ? variableOf(name) : `--${name}`;
      problems.push({
        problem: `${source}: ${parsed.problem}.`,
        fix: "See holdfast serve --help.",
      });
      // What a default would give stands in, so that the reading can go on to the one report.
      const standIn = parse(fallback(name));
      if (!standIn.ok) throw new Error(`the default of --${name} is no value: ${standIn.problem}`);
      return standIn.value;
    },
    list: (name) =>
      given[name] ??
      (variable(name) ?? fallback(name))
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
  };
}

/** [C W-02] */
function checkWindow(options: RuntimeOptions): WrongUse | undefined {
  const { retention, idleTtlMs, clientReconnectMs } = options;
  const verdict = checkRetention({ windowMs: retention.windowMs, idleTtlMs, clientReconnectMs });
  if (verdict.ok) return undefined;
  return { problem: verdict.message };
}

function readLog(reader: Reader): LogChoice {
  const log = reader.text("log", parseLog);
  const durability = reader.text("durability", oneOf(["process", "power"] as const));
  if (log.kind === "sqlite") return { ...log, durability };
  if (reader.isGiven("durability")) {
    reader.problems.push({
      problem: "--durability belongs to a sqlite: log; a memory: log survives nothing.",
      fix: "Leave it out, or keep the log in a file: --log sqlite:./holdfast.db",
    });
  }
  return log;
}

type LogPlace = { readonly kind: "memory" } | { readonly kind: "sqlite"; readonly path: string };

function parseLog(text: string): Parsed<LogPlace> {
  if (text === "memory:" || text === "memory") return { ok: true, value: { kind: "memory" } };
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (path !== undefined) return { ok: true, value: { kind: "sqlite", path } };
  return {
    ok: false,
    problem: `"${withoutPassword(text)}" is no log of this version; it has sqlite:FILE and memory:`,
  };
}

/** [C P-03] the address of a store may hold its password. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//…@");
}

function parsePath(text: string): Parsed<string> {
  if (/^\/[\x21-\x7e]*$/.test(text) && !/[?#]/.test(text)) return { ok: true, value: text };
  return { ok: false, problem: `"${text}" is no path; write it like /mcp` };
}

function nonEmpty(text: string): Parsed<string> {
  if (text !== "") return { ok: true, value: text };
  return { ok: false, problem: "the value is empty" };
}

function oneOf<const T extends string>(choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const value = choices.find((choice) => choice === text);
    if (value !== undefined) return { ok: true, value };
    return { ok: false, problem: `"${text}" is not one of ${choices.join(", ")}` };
  };
}

function row(
  group: string,
  name: string,
  value: string,
  fallback: string,
  help: string,
  isList?: true,
): OptionRow {
  return { group, name, value, fallback, help, ...(isList && { isList }) };
}
