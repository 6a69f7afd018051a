/** Writes changes of the state into its file, each by a statement that is prepared once. */
import type { DatabaseSync } from "node:sqlite";
import type { StateChange } from "./client-state.ts";

export type ApplyChange = (change: StateChange) => void;

/** The caller holds a transaction. */
export function changeWriter(db: DatabaseSync): ApplyChange {
  const run = prepareAll(db);
  return (one) => {
    switch (one.change) {
      case "putSession": {
        const { key, url, sessionId, version, params, result, setup } = one.session;
        const [asked, answered, set] = [params, result, setup].map((part) => JSON.stringify(part));
        run.putSession.run(
          ...[key, url, sessionId, version, asked ?? "", answered ?? "", set ?? ""],
        );
        return;
      }
      case "dropSession":
        run.dropSession.run(one.key);
        return;
      case "setCurrent":
        run.setCurrent.run(one.key);
        return;
      case "setSessionCursor":
        run.setSessionCursor.run(one.cursor, one.key);
        return;
      case "putCall": {
        const { wireId, session, appId, method, name, digest, body } = one.call;
        const { idempotencyKey, isSafe, isSafeAcross, startedAtMs } = one.call;
        run.putCall.run(
          ...[wireId, session, appId, method, name, digest, body, idempotencyKey],
          ...[Number(isSafe), Number(isSafeAcross), startedAtMs],
        );
        return;
      }
      case "setCallCursor":
        run.setCallCursor.run(one.cursor, one.wireId);
        return;
      case "setTold":
        run.setTold.run(one.wireId);
        return;
      case "setOutcome":
        run.setOutcome.run(one.outcome, one.wireId);
        return;
      case "dropCall":
        run.dropCall.run(one.wireId);
    }
  };
}

function prepareAll(db: DatabaseSync) {
  return {
    putSession: db.prepare(`insert into sessions (key, url, session_id, version, params, result,
      setup) values (?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set
      session_id = excluded.session_id, version = excluded.version, params = excluded.params,
      result = excluded.result, setup = excluded.setup`),
    dropSession: db.prepare("delete from sessions where key = ?"),
    setCurrent: db.prepare("update meta set current_session = ?"),
    setSessionCursor: db.prepare("update sessions set cursor = ? where key = ?"),
    putCall: db.prepare(`insert or replace into calls (wire_id, session, app_id, method, name,
      digest, body, idempotency_key, is_safe, is_safe_across, started_at_ms)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    setCallCursor: db.prepare("update calls set cursor = ? where wire_id = ?"),
    setTold: db.prepare("update calls set is_told = 1 where wire_id = ?"),
    setOutcome: db.prepare("update calls set outcome = ? where wire_id = ?"),
    dropCall: db.prepare("delete from calls where wire_id = ?"),
  };
}
