/** The options of `holdfast sessions`: their table, and how they are read. Pure. */
import {
  createOptionReader,
  type Env,
  type GivenOptions,
  type WrongUse,
} from "../option-reader.ts";
import type { OptionRow } from "../option-rows.ts";
import { parseFlag, parseOptional } from "../option-values.ts";
import type { Parsed } from "../units.ts";

export type SessionsAction =
  | { readonly kind: "list" }
  /** @remarks `name` is a tag or an id */
  | { readonly kind: "show"; readonly name: string }
  | { readonly kind: "end"; readonly name: string };

export interface SessionsOptions {
  readonly action: SessionsAction;
  /** Of the admin port. */
  readonly adminUrl: URL;
  readonly token: string | undefined;
  readonly isJson: boolean;
  readonly isWatching: boolean;
}

export type SessionsOptionsOutcome =
  | { readonly kind: "options"; readonly options: SessionsOptions }
  | ({ readonly kind: "wrong" } & WrongUse);

const group = "Options:";

export const sessionsOptionRows: readonly OptionRow[] = [
  row("admin-url", "URL", "http://127.0.0.1:8849", "of the gateway's admin port"),
  row("admin-token", "TOKEN", "", "the gateway's own; better in its variable"),
  row("json", "", "", "print JSON; with --watch, a line for each change"),
  row("watch", "", "", "go on, and show what changes"),
];

/** @param words - what follows `sessions` */
export function readSessionsOptions(
  words: readonly string[],
  given: GivenOptions,
  env: Env,
): SessionsOptionsOutcome {
  const action = actionOf(words);
  if ("problem" in action) return { kind: "wrong", ...action };
  const table = { command: "sessions", rows: sessionsOptionRows };
  const reader = createOptionReader(given, env, table);
  const options: SessionsOptions = {
    action,
    adminUrl: reader.value("admin-url", parseAdminUrl),
    token: reader.value("admin-token", parseOptional),
    isJson: reader.value("json", parseFlag),
    isWatching: reader.value("watch", parseFlag),
  };
  if (options.isWatching && action.kind === "end") {
    return { kind: "wrong", problem: "--watch belongs to list and show.", fix: "Leave it out." };
  }
  const [problem] = reader.problems;
  return problem === undefined ? { kind: "options", options } : { kind: "wrong", ...problem };
}

function actionOf(words: readonly string[]): SessionsAction | WrongUse {
  const [kind = "list", name, ...more] = words;
  const fix = "Write: holdfast sessions list, or show NAME, or end NAME; NAME is a tag or an id.";
  if (kind === "list" && name === undefined) return { kind };
  if ((kind === "show" || kind === "end") && name !== undefined && more.length === 0) {
    return { kind, name };
  }
  const isKnown = kind === "show" || kind === "end" || kind === "list";
  if (!isKnown) return { problem: `"${kind}" is nothing that sessions does.`, fix };
  if (kind !== "list" && name === undefined) return { problem: `${kind} which session?`, fix };
  return { problem: `"${more[0] ?? name}" is one word too many.`, fix };
}

function parseAdminUrl(text: string): Parsed<URL> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === "") {
    return { ok: true, value: url };
  }
  return { ok: false, problem: `"${text}" is no URL; write it like http://127.0.0.1:8849` };
}

function row(name: string, value: string, fallback: string, help: string): OptionRow {
  return { group, name, value, fallback, help };
}
