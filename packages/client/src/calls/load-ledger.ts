/** Takes up the ledger of earlier processes [C K-10]: what ended is kept, what did not goes on. */
import type { JsonObject } from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import { freshSession, type Session } from "../sessions/session.ts";
import type { LedgerEntry, StoredState } from "../state/client-state.ts";
import { PostStream } from "../streams/post-stream.ts";
import { callSubject } from "../streams/subjects.ts";
import { endCall } from "./call-ends.ts";
import type { Call } from "./ledger.ts";
import type { CallOutcome } from "./outcomes.ts";

/** @param sessions - of this server, as they were restored */
export function loadLedger(
  connection: Connection,
  stored: StoredState,
  sessions: readonly Session[],
): void {
  const elsewhere = new Set(stored.sessions.map(({ key }) => key));
  for (const { key } of sessions) elsewhere.delete(key);
  for (const entry of stored.ledger) {
    // Calls of other servers stay in the state until somebody connects to those.
    if (elsewhere.has(entry.call.session)) continue;
    // Its session, if it came about, is stored by itself; sent again it would make another one.
    if (entry.call.method === "initialize") {
      connection.ledger.forget(entry.call);
      continue;
    }
    loadEntry(connection, entry, sessions);
  }
}

function loadEntry(connection: Connection, entry: LedgerEntry, sessions: readonly Session[]): void {
  const call = restoredCall(connection, entry);
  if (entry.outcome !== null) {
    const outcome = JSON.parse(entry.outcome) as CallOutcome;
    return connection.recovered.add(call, outcome, !entry.isTold);
  }
  if (!entry.isTold) connection.recovered.add(call, undefined, true);
  connection.ledger.add(call);
  const home = sessions.find(({ key }) => key === entry.call.session);
  const session = home ?? lostSession(entry);
  const facts = { cursor: entry.cursor, onAccepted: () => {} };
  const stream = new PostStream(connection, session, callSubject(connection, call, facts));
  // Its session was given up by the process that died: nothing of it can be had.
  if (home === undefined) {
    stream.runner.dispatch({ type: "sessionOver", reason: "session-gone", mayRepeat: true });
  }
}

function lostSession({ call }: LedgerEntry): Session {
  return { ...freshSession(call.session, {}), standing: "over" };
}

function restoredCall(connection: Connection, { call: stored, isTold }: LedgerEntry): Call {
  const sent = Promise.withResolvers<void>();
  // Nobody sent it here.
  sent.promise.catch(() => {});
  const call: Call = {
    ...{ wireId: stored.wireId, stored, sent, isAccepted: true },
    message: JSON.parse(stored.body) as JsonObject,
    caller: { kind: isTold ? "told" : "gone" },
    onEnd: (end) => endCall(connection, call, end),
  };
  return call;
}
