/**
 * Refusals: every answer that says no, with its status, its JSON-RPC code and its body. One table;
 * who refuses what, and in which order, is the server's business.
 */
import { errorMessageText } from "./error-text.ts";

export const errorCodes = {
  sessionNotFound: -32001,
  resumeWindowExceeded: -32010,
  outcomeUnknown: -32011,
  unsupportedVersion: -32022,
  parse: -32700,
  invalidRequest: -32600,
  other: -32000,
} as const;

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes];

/** `error.data.type` of a refusal: what programs decide by; the text of a message is for people. */
export type RefusalType =
  | "unreadable-request"
  | "not-found"
  | "host-not-allowed"
  | "origin-not-allowed"
  | "method-not-allowed"
  | "unauthorized"
  | "authentication-unavailable"
  | "draining"
  | "not-acceptable"
  | "unsupported-media-type"
  | "body-too-large"
  | "parse-error"
  | "unsupported-version"
  | "session-required"
  | "session-not-allowed"
  | "invalid-session-id"
  | "session-not-found"
  | "invalid-event-id"
  | "foreign-event-id"
  | "resume-window-exceeded"
  | "invalid-request"
  | "invalid-idempotency-key"
  | "overloaded"
  | "rate-limited"
  | "idempotency-key-reuse"
  | "store-unavailable"
  | "internal";

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  /** What was refused and why, as a short sentence. */
  readonly title: string;
  /** True: a POST that is refused so certainly did not run [C D-03]. */
  readonly isNotRun: boolean;
}

const { other } = errorCodes;

/** In the order of the checks [C D-04]. */
export const refusals: Readonly<Record<RefusalType, Refusal>> = {
  "unreadable-request": refusal(400, other, "This is no HTTP request, or it came too slowly."),
  "not-found": refusal(404, other, "There is nothing at this path."),
  "host-not-allowed": refusal(403, other, "The Host of the request is not on the allow-list."),
  "origin-not-allowed": refusal(403, other, "The Origin of the request is not on the allow-list."),
  "method-not-allowed": refusal(405, other, "The endpoint does not take this HTTP method."),
  unauthorized: refusal(401, other, "The request has no credentials, or none that are valid."),
  "authentication-unavailable": refusal(
    503,
    other,
    "Whether the credentials are valid cannot be found out now.",
  ),
  draining: refusal(503, other, "The server is about to stop and takes no new work."),
  "not-acceptable": refusal(406, other, "The Accept header excludes what the endpoint sends."),
  "unsupported-media-type": refusal(415, other, "The body of a POST must be application/json."),
  "body-too-large": refusal(413, other, "The body is over the limit on body bytes."),
  "parse-error": refusal(400, errorCodes.parse, "The body is not JSON."),
  "unsupported-version": refusal(
    400,
    errorCodes.unsupportedVersion,
    "The protocol version of the request is not served.",
  ),
  "session-required": refusal(400, other, "The request needs an Mcp-Session-Id header."),
  "session-not-allowed": refusal(400, other, "An initialize request must not name a session."),
  "invalid-session-id": refusal(400, other, "The Mcp-Session-Id header is malformed."),
  "session-not-found": refusal(
    404,
    errorCodes.sessionNotFound,
    "The session is unknown, has expired, was deleted or has ended.",
  ),
  "invalid-event-id": refusal(
    400,
    other,
    "The Last-Event-ID header is no event id of this server.",
  ),
  "foreign-event-id": refusal(400, other, "The Last-Event-ID belongs to another session or log."),
  "resume-window-exceeded": refusal(
    410,
    errorCodes.resumeWindowExceeded,
    "Events after the Last-Event-ID are gone.",
  ),
  "invalid-request": refusal(400, errorCodes.invalidRequest, "The body is no JSON-RPC message."),
  "invalid-idempotency-key": refusal(400, other, "The idempotency key is malformed or ambiguous."),
  overloaded: refusal(503, other, "The server is at one of its limits."),
  "rate-limited": refusal(429, other, "The session or its principal is at one of its limits."),
  "idempotency-key-reuse": refusal(422, other, "The idempotency key belongs to another payload."),
  // The outcome of a commit is not known when the store fails in the middle of it.
  "store-unavailable": {
    ...refusal(503, other, "The event log is out of reach."),
    isNotRun: false,
  },
  internal: { ...refusal(500, other, "The server failed; the fault is its own."), isNotRun: false },
};

export interface RefusalDetails {
  /** What was wrong with this request, as a sentence for people. */
  readonly message: string;
  /** JSON text of the request's id (`7`, `"7"`); `null` when left out. */
  readonly id?: string;
  /** Further members of `error.data`; `type` is always the refusal's own. */
  readonly data?: object;
}

/**
 * Write the body of a refusal.
 *
 * @returns JSON text: `{"jsonrpc":"2.0","error":{code,message,data:{type,…}},"id":…}`
 * @throws TypeError for an id that is not JSON text of an id
 */
export function refusalBody(type: RefusalType, details: RefusalDetails): string {
  const data = Object.assign({ type }, details.data, { type });
  const error = { code: refusals[type].code, message: details.message, data };
  return errorMessageText(details.id ?? "null", JSON.stringify(error));
}

function refusal(status: number, code: ErrorCode, title: string): Refusal {
  return { status, code, title, isNotRun: true };
}
