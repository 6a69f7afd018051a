/**
 * Durations and sizes as people write them on a command line, and back.
 *
 * Pure. Whole numbers of one unit only: nothing is rounded.
 */

/** Longest duration an option may have: Node's timers reach 24 days and no further. */
export const durationMsMax = 24 * 24 * 3_600_000;

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const bytesPerUnit: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
};

/** A value, or why the text is none: a phrase that follows the option's name. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/**
 * Read a duration.
 *
 * @param text - `500ms`, `30s`, `10m`, `24h`, or `0`
 * @returns milliseconds, 0 to {@link durationMsMax}
 */
export function parseDuration(text: string): Parsed<number> {
  const match = /^([0-9]+)(ms|s|m|h)$/.exec(text.toLowerCase());
  const ms = text === "0" ? 0 : scaled(match, msPerUnit);
  if (ms === undefined)
    return wrong(`"${text}" is no duration; write it like 500ms, 30s, 10m, 24h`);
  if (ms > durationMsMax)
    return wrong(`${text} is too long; the most is ${durationMsMax / 3_600_000}h`);
  return { ok: true, value: ms };
}

/** Read a duration that has to pass: not 0, which would be no limit, or none at all. */
export function parseLapse(text: string): Parsed<number> {
  const parsed = parseDuration(text);
  if (parsed.ok && parsed.value === 0) return wrong(`${text} is too short; the least is 1ms`);
  return parsed;
}

/**
 * Read a size.
 *
 * @param text - `64kb`, `4mb`, `1gb` (of 1024), or a plain number of bytes
 * @returns bytes, from `min` to `max`, both included
 */
export function parseSize(
  text: string,
  min = 1,
  max: number = Number.MAX_SAFE_INTEGER,
): Parsed<number> {
  const match = /^([0-9]+)(|b|kb|mb|gb)$/.exec(text.toLowerCase());
  const bytes = scaled(match, bytesPerUnit);
  if (bytes === undefined || bytes < 1) {
    return wrong(`"${text}" is no size; write it like 64kb, 4mb, or as a number of bytes`);
  }
  if (bytes < min) return wrong(`${text} is too small; the least is ${sizePhrase(min)}`);
  if (bytes > max) return wrong(`${text} is too large; the most is ${sizePhrase(max)}`);
  return { ok: true, value: bytes };
}

/** Read a whole number from `min` to `max`, both included. */
export function parseWhole(text: string, min: number, max: number): Parsed<number> {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return { ok: true, value };
  return wrong(`"${text}" is no whole number from ${min} to ${max}`);
}

/** A duration for a sentence: `30 min`, `90 s`, `24 h`, `250 ms`. */
export function durationPhrase(ms: number): string {
  if (ms >= 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`;
  if (ms >= 1000 && ms % 1000 === 0) return `${ms / 1000} s`;
  return `${ms} ms`;
}

/** A size for a sentence: `64 MB`, `512 KB`, `1000 bytes`. */
export function sizePhrase(bytes: number): string {
  for (const [unit, size] of [
    ["GB", 1024 ** 3],
    ["MB", 1024 ** 2],
    ["KB", 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size} ${unit}`;
  }
  return `${bytes} bytes`;
}

function scaled(
  match: RegExpExecArray | null,
  units: Readonly<Record<string, number>>,
): number | undefined {
  const scale = units[match?.[2] ?? "none"];
  if (match === null || scale === undefined) return undefined;
  const value = Number(match[1]) * scale;
  return Number.isSafeInteger(value) ? value : undefined;
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
