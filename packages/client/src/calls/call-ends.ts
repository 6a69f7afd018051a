/**
 * What the end of a call means for who waits for it [C K-10]: the application, an earlier process's
 * ledger, or nobody.
 */
import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import { type Call, outcomeOfCall } from "./ledger.ts";
import { type CallEnd, type CallOutcome, responseOf } from "./outcomes.ts";

/** The call is in the ledger no more. */
export function endCall(connection: Connection, call: Call, end: CallEnd): void {
  const { ledger, recovered } = connection;
  const { caller } = call;
  const outcome = outcomeOfCall(call, end);
  if (caller.kind === "app") {
    recovered.delivered(call, outcome);
    if (end.kind === "refused" && !call.isAccepted) call.sent.reject(end.error);
    else if (outcome !== undefined) handOnOutcome(connection, call, outcome);
    call.sent.resolve();
    return ledger.forget(call);
  }
  // Who was told that it is unknown has no use for being told again.
  const isNews = caller.kind !== "told" || end.kind === "result" || end.kind === "error";
  if (outcome === undefined || !isNews) return ledger.forget(call);
  recovered.end(call, outcome);
  ledger.keepOutcome(call, outcome);
}

/** The call ends as unknown for its caller; its stream goes on, for what may still come. */
export function tellUnknown(
  connection: Connection,
  call: Call,
  reason: OutcomeUnknownReason,
): void {
  const { ledger, recovered } = connection;
  const outcome = outcomeOfCall(call, { kind: "unknown", reason });
  if (outcome === undefined) return;
  const { kind } = call.caller;
  if (kind === "gone") {
    recovered.end(call, outcome);
    ledger.keepOutcome(call, outcome);
    call.caller = { kind: "told" };
  } else if (kind === "app") {
    recovered.delivered(call, outcome);
    handOnOutcome(connection, call, outcome);
    call.sent.resolve();
    ledger.setTold(call);
  } else if (kind === "internal") ledger.end(call, { kind: "unknown", reason });
}

/** To the application, under the id that it knows. */
export function handOnOutcome(connection: Connection, call: Call, outcome: CallOutcome): void {
  if (call.caller.kind !== "app") return;
  const response = responseOf(outcome, call.caller.id);
  if (outcome.kind === "unknown") connection.app.onUnknownOutcome(outcome.outcome, response);
  else connection.handOn(response, call.came);
}
