/**
 * The options of one start of `holdfast connect`, read into values, and what they must agree on.
 *
 * Pure: arguments and environment come in, values or a sentence come out.
 */
import { defaultReconnectPolicy, type ReconnectPolicy } from "@holdfast/contract";
import {
  createOptionReader,
  type Env,
  type GivenOptions,
  type OptionReader,
  type WrongUse,
} from "../option-reader.ts";
import { variableOf } from "../option-rows.ts";
import { logLevels, oneOf, parseFlag, parseOptional, withoutPassword } from "../option-values.ts";
import { type Parsed, parseLapse, parseWhole } from "../units.ts";
import { type HeaderRecord, parseHeaders, splitHeaders } from "./headers.ts";
import { connectOptionRows } from "./option-rows.ts";
import { defaultStateFile } from "./state-place.ts";

export interface ConnectOptions {
  readonly url: URL;
  /** Path of the state. */
  readonly stateFile: string;
  readonly headers: HeaderRecord;
  /** [C K-11] */
  readonly isStrict: boolean;
  /** [C K-10] */
  readonly isReattaching: boolean;
  /** [C K-04] */
  readonly reconnect: ReconnectPolicy;
  readonly logLevel: string;
}

export type ConnectOptionsOutcome =
  | { readonly kind: "options"; readonly options: ConnectOptions }
  | ({ readonly kind: "wrong" } & WrongUse);

/**
 * Read the options of one start: command line over variable over default.
 *
 * @param words - what is neither option nor value on the command line: the URL
 * @param home - the user's home directory
 * @returns the options, or what is wrong; never throws for what a user wrote
 */
export function readConnectOptions(
  words: readonly string[],
  given: GivenOptions,
  env: Env,
  home: string,
): ConnectOptionsOutcome {
  const [word, extra] = words;
  if (word === undefined) return wrong("There is no URL to connect to.", example);
  if (extra !== undefined) return wrong(`"${withoutPassword(extra)}" is one word too many.`, help);
  const url = parseUrl(word);
  if (!url.ok) return wrong(`${url.problem}.`, example);
  const reader = createOptionReader(given, env, { command: "connect", rows: connectOptionRows });
  const stateFile = reader.value("state", parseOptional);
  const options: ConnectOptions = {
    url: url.value,
    stateFile: stateFile ?? defaultStateFile(url.value, env, home),
    headers: readHeaders(reader, given, env),
    isStrict: reader.value("strict", parseFlag),
    isReattaching: !reader.value("no-reattach", parseFlag),
    reconnect: readPolicy(reader),
    logLevel: reader.value("log-level", oneOf(logLevels)),
  };
  const problem = reader.problems[0];
  return problem === undefined ? { kind: "options", options } : { kind: "wrong", ...problem };
}

const help = "See holdfast connect --help.";
const example = "Name the endpoint, like: holdfast connect https://mcp.example/mcp";

function parseUrl(text: string): Parsed<URL> {
  const shown = withoutPassword(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return { ok: false, problem: `"${shown}" is no http or https URL` };
  }
  if (url.username !== "" || url.password !== "") {
    const instead = "give it as a header: --header 'Authorization: Basic …'";
    return { ok: false, problem: `"${shown}" holds a password; ${instead}` };
  }
  // A fragment is never sent, so it names no other server.
  url.hash = "";
  return { ok: true, value: url };
}

function readHeaders(reader: OptionReader, given: GivenOptions, env: Env): HeaderRecord {
  const onLine = given.header;
  const parsed = parseHeaders(onLine ?? splitHeaders(env[variableOf("header")] ?? ""));
  if (parsed.ok) return parsed.value;
  const source = onLine === undefined ? variableOf("header") : "--header";
  reader.problems.push({ problem: `${source}: ${parsed.problem}.`, fix: help });
  return {};
}

function readPolicy(reader: OptionReader): ReconnectPolicy {
  const policy: ReconnectPolicy = {
    ...defaultReconnectPolicy,
    initialDelayMs: reader.value("reconnect-initial", parseLapse),
    maxDelayMs: reader.value("reconnect-max", parseLapse),
    maxAttempts: reader.value("reconnect-attempts", (text) => parseWhole(text, 1, 1_000_000)),
    maxElapsedMs: reader.value("reconnect-budget", parseLapse),
  };
  if (policy.initialDelayMs > policy.maxDelayMs) {
    reader.problems.push({
      problem:
        `--reconnect-initial (${policy.initialDelayMs}ms) is longer than ` +
        `--reconnect-max (${policy.maxDelayMs}ms).`,
      fix: "Make the first shorter, or the second longer.",
    });
  }
  return policy;
}

function wrong(problem: string, fix: string): ConnectOptionsOutcome {
  return { kind: "wrong", problem, fix };
}
