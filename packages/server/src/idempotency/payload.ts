/**
 * The payload of a call, for telling a repetition from another call under the same key [C X-03]:
 * method and params without `_meta`, compared as JSON values.
 */

import { createHash } from "node:crypto";
import { removeMember, skipBlank, stringEnd, textAt } from "@holdfast/contract";

/** Objects and arrays within each other that a payload may have. */
export const payloadDepthMax = 1_000;

/**
 * @returns a digest that is the same for the same payload, 64 hexadecimal digits; `undefined` for
 * one that is nested deeper than {@link payloadDepthMax}
 */
export function payloadDigest(method: string, requestText: string): string | undefined {
  const params = textAt(requestText, "params") ?? "null";
  const canonical = canonicalJson(removeMember(params, [], "_meta"));
  if (canonical === undefined) return undefined;
  return createHash("sha256").update(JSON.stringify(method)).update(canonical).digest("hex");
}

/**
 * One spelling for each JSON value: no blanks, keys in order, numbers and strings in one form.
 *
 * Taken from the text, in one pass, since parsing would round numbers beyond 2^53 and make two
 * payloads one.
 */
export function canonicalJson(text: string): string | undefined {
  return valueAt(text, skipBlank(text, 0), 0)?.canonical;
}

interface Value {
  readonly canonical: string;
  readonly end: number;
}

function valueAt(text: string, start: number, depth: number): Value | undefined {
  if (depth > payloadDepthMax) return undefined;
  const first = text[start];
  if (first === "{") return objectAt(text, start, depth);
  if (first === "[") return arrayAt(text, start, depth);
  if (first === '"') return stringAt(text, start);
  const word = /[^\s,\]}]+/y;
  word.lastIndex = start;
  const [bare = ""] = word.exec(text) ?? [];
  const canonical = /^[-\d]/.test(bare) ? canonicalNumber(bare) : bare;
  return { canonical, end: start + bare.length };
}

function stringAt(text: string, start: number): Value {
  const end = stringEnd(text, start);
  return { canonical: JSON.stringify(JSON.parse(text.slice(start, end))), end };
}

function arrayAt(text: string, start: number, depth: number): Value | undefined {
  const elements: string[] = [];
  let at = skipBlank(text, start + 1);
  while (at < text.length && text[at] !== "]") {
    const element = valueAt(text, at, depth + 1);
    if (element === undefined) return undefined;
    elements.push(element.canonical);
    at = pastComma(text, element.end);
  }
  return { canonical: `[${elements.join(",")}]`, end: at + 1 };
}

/** Of a doubled key the last counts, as when parsed. */
function objectAt(text: string, start: number, depth: number): Value | undefined {
  const members = new Map<string, string>();
  let at = skipBlank(text, start + 1);
  while (at < text.length && text[at] !== "}") {
    const key = stringAt(text, at);
    const colon = skipBlank(text, key.end);
    const value = valueAt(text, skipBlank(text, colon + 1), depth + 1);
    if (value === undefined) return undefined;
    members.set(key.canonical, value.canonical);
    at = pastComma(text, value.end);
  }
  const sorted = [...members].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const inner = sorted.map(([key, value]) => `${key}:${value}`).join(",");
  return { canonical: `{${inner}}`, end: at + 1 };
}

function pastComma(text: string, from: number): number {
  const at = skipBlank(text, from);
  return text[at] === "," ? skipBlank(text, at + 1) : at;
}

/** Digits without leading and closing zeros, and the power of ten: exact for any length. */
function canonicalNumber(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - kept.length);
  return `${sign}${kept}e${power}`;
}
