/**
 * What is lost, in the words of the wire: events that are gone (a gap), and calls of which nobody
 * knows whether they ran (an unknown outcome). Values and texts; who finds the loss is elsewhere.
 */
import { errorMessageText, parseIdJson } from "./error-text.ts";
import { type EventId, type EventPlace, encodeEventId } from "./event-id.ts";
import type { RequestId } from "./messages.ts";
import { errorCodes } from "./refusals.ts";
import type { Retention } from "./retention.ts";
import { supportedVersions } from "./versions.ts";

/** `error.data` of a cursor that is not honoured [C R-03]. */
export interface ResumeWindowExceeded {
  readonly type: "resume-window-exceeded";
  readonly stream: number;
  /** The cursor that was shown. */
  readonly requested: EventId;
  /** Resuming here replays all that is retained and was not seen. */
  readonly oldestEventId: EventId;
  readonly headEventId: EventId;
  /** How many events are gone for this reader; null when that cannot be counted. */
  readonly lostEvents: number | null;
  readonly retention: Retention;
}

/** A gap as the event log reports it. */
export interface GapPlaces {
  readonly stream: number;
  readonly requested: EventPlace;
  readonly oldest: EventPlace;
  readonly head: EventPlace;
  readonly lostEvents: number | null;
}

export type OutcomeUnknownReason =
  | "process-restarted"
  | "upstream-exited"
  | "owner-lost"
  | "session-ended"
  | "window-expired"
  | "unreachable"
  | "session-gone"
  | "authorization"
  | "stream-refused";

/** `error.data` of a call that may or may not have run [C X-05]. */
export interface OutcomeUnknown {
  readonly type: "outcome-unknown";
  /** Large integers are rounded for who reads them so; on the wire they are not. */
  readonly requestId: RequestId;
  readonly method: string;
  /** Name of the tool, prompt or resource, where the method has one. */
  readonly name?: string;
  /** When the call was taken, ISO 8601 in UTC. */
  readonly startedAt: string;
  readonly reason: OutcomeUnknownReason;
}

/** A call of which the outcome is unknown. */
export interface LostCall {
  /** JSON text of the request's id, with all its digits: `7`, `"7"`, `12345678901234567890`. */
  readonly id: string;
  readonly method: string;
  readonly name?: string;
  /** Wall clock, milliseconds since 1970. */
  readonly startedAtMs: number;
}

/** [C S-09] `error.data` of a version that is not served. */
export interface UnsupportedVersion {
  readonly type: "unsupported-version";
  readonly supported: readonly string[];
  readonly requested: string;
}

export function resumeWindowExceeded(gap: GapPlaces, retention: Retention): ResumeWindowExceeded {
  const { windowMs, maxEvents, maxBytes } = retention;
  return {
    type: "resume-window-exceeded",
    stream: gap.stream,
    requested: encodeEventId(gap.requested),
    oldestEventId: encodeEventId(gap.oldest),
    headEventId: encodeEventId(gap.head),
    lostEvents: gap.lostEvents,
    retention: { windowMs, maxEvents, maxBytes },
  };
}

/** The in-band form of a gap [C R-09]: the text of a `notifications/message`. */
export function gapNotification(data: ResumeWindowExceeded): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "warning", logger: "holdfast", data },
  });
}

export function unsupportedVersion(requested: string): UnsupportedVersion {
  return { type: "unsupported-version", supported: supportedVersions, requested };
}

/** @throws TypeError for an id that is none, RangeError for a start that is no time */
export function outcomeUnknown(call: LostCall, reason: OutcomeUnknownReason): OutcomeUnknown {
  return {
    type: "outcome-unknown",
    requestId: parseIdJson(call.id),
    method: call.method,
    ...(call.name === undefined ? {} : { name: call.name }),
    startedAt: new Date(call.startedAtMs).toISOString(),
    reason,
  };
}

/**
 * The answer to a call of which the outcome is unknown [C X-05].
 *
 * @returns JSON text of an error response; its message is a sentence for a person or a model
 * @throws TypeError for an id that is not JSON text of an id
 */
export function outcomeUnknownMessage(call: LostCall, reason: OutcomeUnknownReason): string {
  const { type, requestId: _rounded, ...rest } = outcomeUnknown(call, reason);
  // The id is written from its own text: one beyond 2^53 would be rounded by a number.
  const data = `{"type":"${type}","requestId":${call.id},${JSON.stringify(rest).slice(1)}`;
  const message = JSON.stringify(outcomeUnknownSentence(call, reason));
  const error = `{"code":${errorCodes.outcomeUnknown},"message":${message},"data":${data}}`;
  return errorMessageText(call.id, error);
}

/** What became of a call, why nobody knows, and what to do: for a person or a model to read. */
export function outcomeUnknownSentence(
  call: Pick<LostCall, "method" | "name">,
  reason: OutcomeUnknownReason,
): string {
  const name = call.name === undefined ? "" : ` ${JSON.stringify(call.name)}`;
  return (
    `The outcome of ${call.method}${name} is unknown: ${outcomeUnknownReasons[reason]}. ` +
    "It may or may not have taken effect. Check that before calling it again; repeating it " +
    "could do the same thing twice."
  );
}

/** Why an outcome is unknown, as the rest of a sentence. */
export const outcomeUnknownReasons: Readonly<Record<OutcomeUnknownReason, string>> = {
  "process-restarted": "the server was restarted while the call ran",
  "upstream-exited": "the server's process exited while the call ran",
  "owner-lost": "the node that ran the call was lost",
  "session-ended": "the session was ended while the call ran",
  "window-expired": "its answer is no longer kept",
  unreachable: "the server, or its event log, could not be reached again in time",
  "session-gone": "the server no longer knows the session in which it was called",
  authorization: "the server no longer accepts the credentials with which its answer is fetched",
  "stream-refused": "the server refused the stream on which its answer would come",
};
