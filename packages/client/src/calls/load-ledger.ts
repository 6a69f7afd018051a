/** Takes up the ledger of earlier processes [C K-10]: what ended is kept, what did not goes on. */
import { isRepeatableMethod, type JsonObject, type RequestId } from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import { stillKeepsKey } from "../sessions/server-contract.ts";
import { freshSession, type Session } from "../sessions/session.ts";
import type { LedgerEntry, StoredCall, StoredState } from "../state/client-state.ts";
import { PostStream } from "../streams/post-stream.ts";
import { callSubject } from "../streams/subjects.ts";
import { endCall } from "./call-ends.ts";
import type { Call, Caller } from "./ledger.ts";
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
  const isOurs = connection.settings.reattach === "by-id" && !entry.isTold;
  const home = sessions.find(({ key }) => key === entry.call.session);
  const call = restoredCall(connection, entry, { home, isOurs });
  if (entry.outcome !== null) {
    const outcome = JSON.parse(entry.outcome) as CallOutcome;
    return connection.recovered.add(call, outcome, !entry.isTold);
  }
  if (!entry.isTold && !isOurs) connection.recovered.add(call, undefined, true);
  connection.ledger.add(call);
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

function restoredCall(
  connection: Connection,
  { call, isTold }: LedgerEntry,
  { home, isOurs }: { readonly home: Session | undefined; readonly isOurs: boolean },
): Call {
  const stored = isProtected(connection, call, home)
    ? call
    : { ...call, isSafe: false, isSafeAcross: false };
  const message = JSON.parse(stored.body) as JsonObject;
  const sent = Promise.withResolvers<void>();
  // Nobody sent it here.
  sent.promise.catch(() => {});
  const restored: Call = {
    ...{ wireId: stored.wireId, stored, sent, isAccepted: true },
    isHarmless: isHarmless(stored),
    message,
    caller: isOurs ? ownCaller(stored, message) : { kind: isTold ? "told" : "gone" },
    onEnd: (end) => endCall(connection, restored, end),
  };
  return restored;
}

/** Which tools were harmless is stored of those alone that had no key; others count as unsafe. */
function isHarmless({ idempotencyKey, method, isSafeAcross }: StoredCall): boolean {
  return isRepeatableMethod(method) || (idempotencyKey === null && isSafeAcross);
}

/** [C X-03] The server forgets a key some day; under a forgotten one the call would run again. */
function isProtected(
  { settings }: Connection,
  call: StoredCall,
  home: Session | undefined,
): boolean {
  if (call.idempotencyKey === null || isHarmless(call)) return true;
  const { worstCaseMs, internals } = settings;
  const wallMs = internals.clock.wallMs();
  return stillKeepsKey(home?.capability ?? null, { sentMs: call.startedAtMs, wallMs, worstCaseMs });
}

/** This process's own, under the id that it had; who gave it a progress token gave it its id. */
function ownCaller({ appId }: StoredCall, { params }: JsonObject): Caller {
  const id = JSON.parse(appId) as RequestId;
  const { progressToken } = Object((Object(params) as JsonObject)._meta) as JsonObject;
  return { kind: "app", id, progressToken: progressToken === undefined ? undefined : id };
}
