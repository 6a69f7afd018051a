/**
 * The file of `--auth bearer:FILE`: lines `TOKEN SUBJECT`; `#` begins a line that is none. Pure.
 *
 * Tokens are kept as digests: looking one up takes as long for a near miss as for a far one.
 */
import { createHash } from "node:crypto";
import type { Parsed } from "../units.ts";
import { isToken } from "./bearer.ts";

/** Subject by digest of its token. */
export type Tokens = ReadonlyMap<string, string>;

/**
 * @returns the tokens, or what is wrong, with the number of the line and without its text [C P-03]
 */
export function parseTokenLines(text: string): Parsed<Tokens> {
  const tokens = new Map<string, string>();
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    const words = line.trim().split(/\s+/);
    const [token = "", subject] = words;
    if (token === "" || token.startsWith("#")) continue;
    const problem = problemOf(words) ?? (tokens.has(digestOf(token)) ? repeated : undefined);
    if (problem !== undefined || subject === undefined) {
      return { ok: false, problem: `line ${index + 1} ${problem}` };
    }
    tokens.set(digestOf(token), subject);
  }
  if (tokens.size === 0) return { ok: false, problem: "it holds no token" };
  return { ok: true, value: tokens };
}

export function subjectOf(tokens: Tokens, token: string): string | undefined {
  return tokens.get(digestOf(token));
}

function problemOf([token = "", subject, more]: readonly string[]): string | undefined {
  if (subject === undefined) return "has no subject; write TOKEN SUBJECT";
  if (more !== undefined) return "has more than two words; write TOKEN SUBJECT";
  if (!isToken(token)) return "has a token that no client can send; use letters, digits, -._~+/";
  return undefined;
}

const repeated = "repeats a token of an earlier line";

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
