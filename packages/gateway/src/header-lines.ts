/** `--header 'K: V'` as headers; those that the protocol sets itself are refused. Pure. */
import type { Parsed } from "./units.ts";

export type HeaderRecord = Readonly<Record<string, string>>;

/** @param lines - `Name: value`, each as it was given */
export function parseHeaders(lines: readonly string[]): Parsed<HeaderRecord> {
  const headers = new Headers();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/s.exec(line) ?? [];
    // [C P-03] what was given may be a secret, and is not shown.
    if (name === "") return wrong("a header is written like 'Authorization: Bearer …'");
    if (isOwnHeader(name)) return wrong(`"${name}" is set by holdfast itself`);
    try {
      headers.append(name, value.trim());
    } catch {
      return wrong(`the value of "${name}" has characters that no header may have`);
    }
  }
  return { ok: true, value: Object.fromEntries(headers) };
}

/**
 * Headers of a variable: by comma, where a name and a colon follow; the commas of a value are its
 * own.
 */
export function splitHeaders(text: string): readonly string[] {
  return text
    .split(/[,\n](?=\s*[\w!#$%&'*+.^`|~-]+:(?!\/\/))/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The protocol sets it, or the connection. */
export function isOwnHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return lower.startsWith("mcp-") || ours.has(lower);
}

const ours: ReadonlySet<string> = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "transfer-encoding",
]);

function wrong(problem: string): Parsed<never> {
  return { ok: false, problem };
}
