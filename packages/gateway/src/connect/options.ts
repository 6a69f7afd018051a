/**
 * The options of one start of `holdfast connect`, read into values, and what they must agree on.
 *
 * Pure: arguments and environment come in, values or a sentence come out.
 */
import { defaultReconnectPolicy, type ReconnectPolicy } from "@holdfast/contract";
import { parseEndpoint, readHeaders } from "../endpoint-options.ts";
import type { HeaderRecord } from "../header-lines.ts";
import {
  createOptionReader,
  type Env,
  type GivenOptions,
  type OptionReader,
  type WrongUse,
} from "../option-reader.ts";
import { logLevels, oneOf, parseFlag, parseOptional, withoutPassword } from "../option-values.ts";
import { parseLapse, parseWhole } from "../units.ts";
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
  const url = parseEndpoint(word);
  if (!url.ok) return wrong(`${url.problem}.`, example);
  const reader = createOptionReader(given, env, { command: "connect", rows: connectOptionRows });
  const stateFile = reader.value("state", parseOptional);
  const options: ConnectOptions = {
    url: url.value,
    stateFile: stateFile ?? defaultStateFile(url.value, env, home),
    headers: readHeaders(reader, given, env, { option: "header", command: "connect" }),
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
