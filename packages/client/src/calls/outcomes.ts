/** How a call ends: exactly one of these [C K-10]. Values and their texts; pure. */
import {
  errorCodes,
  type JsonObject,
  type JsonRpcError,
  type LostCall,
  type OutcomeUnknownReason,
  outcomeUnknown,
  outcomeUnknownSentence,
  type RequestId,
  type ResponseMessage,
} from "@holdfast/contract";
import type { UnknownOutcome } from "../app-events.ts";

/** As the application gets it. */
export type CallOutcome =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | { readonly kind: "unknown"; readonly outcome: UnknownOutcome };

/** As the transport finds it out; no id of the application is in it yet. */
export type CallEnd =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | {
      readonly kind: "unknown";
      readonly reason: OutcomeUnknownReason;
      /** Of the newest attempt, where there was one. */
      readonly failure?: Error;
    }
  /** It did not run: the transport's own error, thrown to who sent it. */
  | { readonly kind: "refused"; readonly error: Error }
  /** The application does not want it any more. */
  | { readonly kind: "cancelled" };

export function endOf(response: ResponseMessage): CallEnd {
  return "error" in response
    ? { kind: "error", error: response.error }
    : { kind: "result", result: response.result };
}

/** @param call - its id is the application's, as JSON */
export function outcomeOf(end: CallEnd, call: LostCall): CallOutcome | undefined {
  switch (end.kind) {
    case "result":
      return end;
    case "error":
      return unknownByServer(end.error, call) ?? end;
    case "unknown":
      return { kind: "unknown", outcome: unknownOf(call, end.reason) };
    case "refused":
      return { kind: "error", error: errorOfRefusal(end.error) };
    case "cancelled":
      return undefined;
  }
}

/** The message that brings an outcome to the application. */
export function responseOf(outcome: CallOutcome, id: RequestId): object {
  if (outcome.kind === "result") return { jsonrpc: "2.0", id, result: outcome.result };
  return { jsonrpc: "2.0", id, error: errorOf(outcome) };
}

function errorOf(outcome: Exclude<CallOutcome, { kind: "result" }>): JsonRpcError {
  if (outcome.kind === "error") return outcome.error;
  const { message, ...data } = outcome.outcome;
  return { code: errorCodes.outcomeUnknown, message, data };
}

function unknownOf(call: LostCall, reason: OutcomeUnknownReason): UnknownOutcome {
  return { ...outcomeUnknown(call, reason), message: outcomeUnknownSentence(call, reason) };
}

/** [C X-05] the server itself does not know: its words, the application's id. */
function unknownByServer(error: JsonRpcError, call: LostCall): CallOutcome | undefined {
  if (error.code !== errorCodes.outcomeUnknown) return undefined;
  const data = Object(error.data) as JsonObject;
  if (data.type !== "outcome-unknown") return undefined;
  const ours = unknownOf(call, "process-restarted");
  const { requestId } = ours;
  return { kind: "unknown", outcome: { ...ours, ...data, requestId, message: error.message } };
}

function errorOfRefusal(error: Error): JsonRpcError {
  const { code, status, hint } = error as Error & Partial<Record<string, unknown>>;
  const data = { type: "not-run", code, status, hint };
  return { code: errorCodes.other, message: error.message, data };
}
