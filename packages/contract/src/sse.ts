/**
 * The writer of event streams: values to text, each frame whole, nothing kept in between. Reading
 * is done elsewhere, by a parser that knows nothing of this file.
 */

/** Why a session ended, as its viewports are told [C D-01]. */
export type CloseReason = "deleted" | "expired" | "ended";

export interface EventFrame {
  /** Visible ASCII [C E-02]. */
  readonly id?: string;
  /** Name of the event; `message` to the reader when left out. */
  readonly event?: string;
  /** How long the reader is to wait before it comes back, whole milliseconds. */
  readonly retryMs?: number;
  /** Left out: the reader takes over id and retry time and hands nothing on. */
  readonly data?: string;
}

/**
 * Write one event.
 *
 * Data is split on CRLF, CR and LF, one `data:` line for each piece; every other character passes
 * as it is [C E-07]. One pass over data that has no line break: results of many megabytes come
 * through here.
 *
 * @throws TypeError for an id that is not visible ASCII, a name with a line break, a retry time
 * that is not a whole number
 */
export function frameEvent(frame: EventFrame): string {
  let head = "";
  if (frame.id !== undefined) head += `id: ${requireId(frame.id)}\n`;
  if (frame.event !== undefined) head += `event: ${requireOneLine("event", frame.event)}\n`;
  if (frame.retryMs !== undefined) head += `retry: ${requireMs(frame.retryMs)}\n`;
  if (frame.data !== undefined) head += dataLines(frame.data);
  return `${head}\n`;
}

/**
 * Write a comment, which readers skip.
 *
 * @throws TypeError for a text with a line break
 */
export function frameComment(text: string): string {
  return `: ${requireOneLine("comment", text)}\n\n`;
}

/** [C E-05] the first bytes of a stream: a cursor before anything has happened, and no message. */
export function primingFrame(id: string, retryMs: number): string {
  return frameEvent({ id, retryMs, data: "" });
}

/** [C E-06] names the newest event that was written to this viewport, if there is one yet. */
export function heartbeatFrame(id: string | undefined): string {
  return frameComment(id === undefined ? "alive" : `at ${requireId(id)}`);
}

/** [C D-01] the session is over; the connection closes after this frame. */
export function closeFrame(reason: CloseReason): string {
  return frameEvent({ event: "close", data: JSON.stringify({ reason }) });
}

/** [C E-11] the viewport is let go after this frame; the stream goes on. */
export function retryFrame(retryMs: number): string {
  return frameEvent({ retryMs });
}

function dataLines(data: string): string {
  if (data === "") return "data:\n";
  if (data.indexOf("\n") === -1 && data.indexOf("\r") === -1) return `data: ${data}\n`;
  return `data: ${data.split(lineBreak).join("\ndata: ")}\n`;
}

const lineBreak = /\r\n|\r|\n/;
const visibleAscii = /^[\x21-\x7e]+$/;

// [spec] an id with NUL is ignored by the reader, and an empty one erases its cursor: either would
// lose the place without a sign.
function requireId(id: string): string {
  if (!visibleAscii.test(id)) {
    throw new TypeError(`An event id must be visible ASCII, not ${JSON.stringify(id)}.`);
  }
  return id;
}

function requireOneLine(what: string, text: string): string {
  if (lineBreak.test(text)) {
    throw new TypeError(`A line break in an SSE ${what} would end it: ${JSON.stringify(text)}.`);
  }
  return text;
}

// [spec] readers take `retry` for digits alone; anything else is skipped without a sign.
function requireMs(retryMs: number): number {
  if (!Number.isSafeInteger(retryMs) || retryMs < 0) {
    throw new TypeError(`A retry time must be a whole number of milliseconds, not ${retryMs}.`);
  }
  return retryMs;
}
