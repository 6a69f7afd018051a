/**
 * `traceparent` in the `_meta` of a message, as the W3C's Trace Context writes it. The text is
 * changed only where there is something to say [C E-12].
 */
import { setMember } from "./json/splice.ts";

/** A span, by the names that it has on the wire. */
export interface SpanName {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 of them, not all zero. */
  readonly spanId: string;
  /** 8 bits; the lowest says that the trace is sampled. */
  readonly traceFlags: number;
}

/** [spec] version "-" trace-id "-" parent-id "-" trace-flags; a later version may go on after that. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** @returns undefined for what is no `traceparent` */
export function readTraceparent(value: unknown): SpanName | undefined {
  if (typeof value !== "string") return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = form.exec(value) ?? [];
  // [spec] ff is no version, and version 00 has nothing after the flags
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) {
    return undefined;
  }
  const name = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
  return isSpanName(name) ? name : undefined;
}

export function writeTraceparent({ traceId, spanId, traceFlags }: SpanName): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
}

/**
 * A request as a part of a span: `params._meta.traceparent` names it.
 *
 * @param text - JSON of a request whose params, if it has some, are an object
 * @param traceparent - what stands in its `_meta` now
 * @returns the same text when the span is none, or is the one that the text names already
 */
export function withTraceparent(text: string, traceparent: unknown, span: SpanName): string {
  if (!isSpanName(span)) return text;
  const named = readTraceparent(traceparent);
  if (named?.spanId === span.spanId && named.traceId === span.traceId) return text;
  const path = ["params", "_meta", "traceparent"];
  return setMember(text, path, JSON.stringify(writeTraceparent(span)));
}

/** [spec] all zeroes are no id */
function isSpanName({ traceId, spanId }: SpanName): boolean {
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId);
}
