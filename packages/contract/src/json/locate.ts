/**
 * Where values stand in a JSON text, so that one of them can be replaced while every other
 * character stays as it is [C E-12].
 *
 * The text has passed `JSON.parse` before: nothing here looks for errors of syntax.
 * A key that stands twice is found twice; readers of JSON differ in which of them they take.
 */

/** Characters `start` to `end` (exclusive) of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of an object: `key` decoded, and where key and value stand. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly value: Span;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

/** The members of the object that begins at or after `from`; none when it is no object. */
export function membersOf(text: string, from = 0): readonly Member[] {
  const members: Member[] = [];
  let at = skipBlank(text, from);
  if (text.charCodeAt(at) !== openBrace) return members;
  at = skipBlank(text, at + 1);
  while (text.charCodeAt(at) === quote) {
    const keyStart = at;
    const keyEnd = stringEnd(text, at);
    const start = skipBlank(text, skipBlank(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    members.push({ key: decodeKey(text, keyStart, keyEnd), keyStart, value: { start, end } });
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return members;
}

/** The values at a path of keys, duplicates included; the last is the one `JSON.parse` gives. */
export function locate(text: string, ...path: readonly string[]): readonly Span[] {
  if (path.length === 0) return [{ start: 0, end: text.length }];
  // Most messages do not have all the keys; one that is written with escapes has a backslash.
  if (!path.every((key) => text.includes(key)) && !text.includes("\\")) return [];
  const found: Span[] = [];
  collect(text, 0, path, 0, found);
  return found;
}

/** Of the object that begins at or after `from`, the values at what is left of a path. */
function collect(
  text: string,
  from: number,
  path: readonly string[],
  depth: number,
  found: Span[],
): void {
  const key = path[depth];
  let at = skipBlank(text, from);
  if (key === undefined || text.charCodeAt(at) !== openBrace) return;
  at = skipBlank(text, at + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = stringEnd(text, at);
    const start = skipBlank(text, skipBlank(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (isKey(text, at, keyEnd, key)) {
      if (depth === path.length - 1) found.push({ start, end });
      else collect(text, start, path, depth + 1, found);
    }
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
}

function isKey(text: string, start: number, end: number, key: string): boolean {
  if (end - start === key.length + 2 && text.startsWith(key, start + 1)) return true;
  for (let at = start + 1; at < end; at++) {
    if (text.charCodeAt(at) === backslash) return decodeKey(text, start, end) === key;
  }
  return false;
}

/** The elements of the array that the text is; none when it is no array. */
export function elementsOf(text: string): readonly Span[] {
  const elements: Span[] = [];
  let at = skipBlank(text, 0);
  if (text.charCodeAt(at) !== openBracket) return elements;
  at = skipBlank(text, at + 1);
  while (at < text.length && text.charCodeAt(at) !== closeBracket) {
    const end = valueEnd(text, at);
    elements.push({ start: at, end });
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return elements;
}

function decodeKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

/** The place of the next character that is no blank. */
export function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
    at++;
  }
  return at;
}

/** The place behind the string whose opening quote is at `start`. */
export function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/** The place behind the value that begins at `start`; no recursion, whatever the nesting. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at);
      if (depth === 0) return at;
    } else if (code === openBrace || code === openBracket) {
      depth++;
      at++;
    } else if (code === closeBrace || code === closeBracket) {
      // A bare number or word ends where its parent ends.
      if (depth === 0) return trimEnd(text, start, at);
      depth--;
      at++;
      if (depth === 0) return at;
    } else if (code === comma && depth === 0) {
      return trimEnd(text, start, at);
    } else {
      at++;
    }
  }
  return trimEnd(text, start, at);
}

function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && text.charCodeAt(at - 1) <= 0x20) at--;
  return at;
}
