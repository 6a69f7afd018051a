/**
 * Why a request of the host could not be brought to the server, as the JSON-RPC error that answers
 * it: a sentence for a model to read, and data that tells the class. Pure. What may have run ends
 * as unknown outcome [C X-05], and is not made here.
 */
import { errorCodes, type JsonObject, type JsonRpcError, parseMessage } from "@holdfast/contract";

export type FailureClass =
  | "session-lost"
  | "unauthorized"
  | "too-large"
  | "retry-later"
  | "unreachable"
  | "protocol"
  | "window-too-short"
  | "state-unavailable"
  | "internal";

/** `error.data` of a request that was not brought over. */
export interface FailureData {
  /** The server's own word where it has one; the class otherwise. */
  readonly type: string;
  readonly class: FailureClass;
  /** True: it certainly did not run. */
  readonly notRun: boolean;
  /** Of HTTP, where there was an answer. */
  readonly status?: number;
  readonly hint?: string;
}

/**
 * @param method - of the request that is answered
 * @param error - what the transport threw; by its kind the request did not run
 */
export function failureOf(
  method: string,
  error: unknown,
): JsonRpcError & { readonly data: FailureData } {
  const facts = factsOf(error);
  const failure = classOf(facts);
  const said = saidBy(facts.body);
  const own = Object(said?.data) as JsonObject;
  const type = typeof own.type === "string" ? own.type : failure;
  const isKnown = failure !== "internal";
  const data: FailureData & JsonObject = {
    ...own,
    ...{ type, class: failure, notRun: isKnown },
    ...(facts.status === undefined ? {} : { status: facts.status }),
    ...(facts.hint === undefined ? {} : { hint: facts.hint }),
  };
  const what = isKnown ? "did not run" : "failed";
  const reason = said?.message ?? facts.message;
  // Where it could not be reached the reason alone helps nobody.
  const fix = facts.code === "ERR_NOT_RUN" ? ` ${facts.hint ?? ""}` : "";
  const message = `${method} ${what}: ${sentences[failure]} ${reason}${fix}`;
  return { code: said?.code ?? errorCodes.other, message, data };
}

const sentences: Readonly<Record<FailureClass, string>> = {
  "session-lost": "the server does not know the session or the address.",
  unauthorized: "the server does not accept the credentials.",
  "too-large": "the request is larger than the server takes.",
  "retry-later": "the server takes no requests now; it may be repeated later.",
  unreachable: "the server could not be reached; it may be repeated later.",
  protocol: "the server refused the request.",
  "window-too-short": "the server keeps events for too short a time (--strict).",
  "state-unavailable": "the state file could not be written, and what is not noted is not sent.",
  internal: "holdfast could not pass it on.",
};

interface Facts {
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly body: string | undefined;
  readonly hint: string | undefined;
  readonly message: string;
}

/** By their members: an authorization layer around `fetch` throws errors of its own. */
function factsOf(error: unknown): Facts {
  const { name, code, status, body, hint, message } = Object(error) as Record<string, unknown>;
  const isUnauthorized = name === "UnauthorizedError";
  return {
    code: isUnauthorized ? name : textOf(code),
    status: typeof status === "number" ? status : undefined,
    body: textOf(body),
    hint: textOf(hint),
    message: textOf(message) ?? String(error),
  };
}

function classOf({ code, status }: Facts): FailureClass {
  if (code === "UnauthorizedError") return "unauthorized";
  if (code === "ERR_RETENTION_WINDOW") return "window-too-short";
  if (code === "ERR_STATE_UNAVAILABLE") return "state-unavailable";
  if (status !== undefined) return byStatus.get(status) ?? "protocol";
  return code === "ERR_NOT_RUN" || code === "ERR_CLIENT_CLOSED" ? "unreachable" : "internal";
}

const byStatus: ReadonlyMap<number, FailureClass> = new Map([
  [401, "unauthorized"],
  [403, "unauthorized"],
  [404, "session-lost"],
  [413, "too-large"],
  [429, "retry-later"],
  [503, "retry-later"],
]);

/** The JSON-RPC error of a body, if it is one. */
function saidBy(body: string | undefined): JsonRpcError | undefined {
  try {
    const message = parseMessage(JSON.parse(body ?? ""));
    return message.kind === "response" && "error" in message ? message.error : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
