/**
 * Answers that the runtime gives in place of an upstream, as ops for the log.
 */
import { errorCodes, type OutcomeUnknownReason, outcomeUnknownMessage } from "@holdfast/contract";
import type { Call, Op } from "@holdfast/log";

/** Where an answer goes: a call of a stream. */
export interface CallPlace extends Call {
  readonly stream: number;
  /** Index among the calls of its stream. */
  readonly index: number;
}

export type AppendOp = Op & { readonly op: "append" };
export type ResponseOp = AppendOp & { readonly kind: "response" };

export function responseTo(call: CallPlace, text: string): ResponseOp {
  return { op: "append", kind: "response", stream: call.stream, call: call.index, text };
}

/** [C X-05] */
export function unknownOutcome(call: CallPlace, reason: OutcomeUnknownReason): ResponseOp {
  return { ...responseTo(call, outcomeUnknownMessage(call, reason)), unknown: reason };
}

/** The upstream's answer was over the limit: this call fails, nothing else does. */
export function oversizedAnswer(call: Call, bytes: number, bytesMax: number): string {
  return errorText(
    call.id,
    `The answer has ${bytes} bytes; at most ${bytesMax} can be passed on. Ask for less.`,
    { type: "event-too-large", bytes, bytesMax },
  );
}

/** The upstream answered, but with no JSON-RPC that a client could read. */
export function unusableAnswer(call: Call, why: string): string {
  return errorText(call.id, `The server's answer is no JSON-RPC response. ${why}`, {
    type: "invalid-answer",
  });
}

/** [C S-03] The upstream's answer to `initialize` is none: without a version there is no session. */
export function versionlessAnswer(call: Call): string {
  return errorText(call.id, "The server answered initialize without a protocol version.", {
    type: "invalid-initialize-result",
  });
}

/** [C W-03] To an upstream whose request to the client was evicted. */
export function unfetchedQuestion(idJson: string): string {
  return errorText(idJson, "The client did not fetch this request while it was kept.", {
    type: "request-evicted",
  });
}

function errorText(idJson: string, message: string, data: object): string {
  const error = JSON.stringify({ code: errorCodes.other, message, data });
  return `{"jsonrpc":"2.0","id":${idJson},"error":${error}}`;
}
