/** Reads a state file's rows as what they stand for. */
import type { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "@holdfast/contract";
import { ClientError } from "../client-errors.ts";
import type { LedgerEntry, SessionSetup, StoredSession, StoredState } from "./client-state.ts";

/** @throws ClientError `ERR_STATE_CORRUPT` */
export function readState(db: DatabaseSync, file: string): StoredState {
  const sessions = db.prepare("select * from sessions order by key").all() as unknown[];
  const calls = db.prepare("select * from calls order by wire_id").all() as unknown[];
  const meta = db.prepare("select current_session from meta").get();
  try {
    if (meta === undefined) throw new Error("it has lost its own record");
    const cursors = (sessions as SessionRow[]).flatMap(({ key, cursor }) =>
      cursor === null ? [] : [[key, cursor] as const],
    );
    return {
      currentSession: meta.current_session === null ? null : Number(meta.current_session),
      sessions: (sessions as SessionRow[]).map(sessionOf),
      cursors: new Map(cursors),
      ledger: (calls as CallRow[]).map(entryOf),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ClientError("ERR_STATE_CORRUPT", `The client state ${file} is damaged: ${why}.`, {
      cause: error,
    });
  }
}

interface SessionRow {
  readonly key: number;
  readonly url: string;
  readonly session_id: string | null;
  readonly version: string | null;
  readonly params: string;
  readonly result: string;
  readonly setup: string;
  readonly cursor: string | null;
}

interface CallRow {
  readonly wire_id: number;
  readonly session: number;
  readonly app_id: string;
  readonly method: string;
  readonly name: string | null;
  readonly digest: string;
  readonly body: string;
  readonly idempotency_key: string | null;
  readonly is_safe: number;
  readonly is_safe_across: number;
  readonly started_at_ms: number;
  readonly cursor: string | null;
  readonly is_told: number;
  readonly outcome: string | null;
}

function sessionOf(row: SessionRow): StoredSession {
  const { key, url, version } = row;
  return {
    ...{ key, url, version, sessionId: row.session_id },
    params: JSON.parse(row.params) as JsonObject,
    result: JSON.parse(row.result) as JsonObject,
    setup: JSON.parse(row.setup) as SessionSetup,
  };
}

function entryOf(row: CallRow): LedgerEntry {
  const { session, method, name, digest, body } = row;
  return {
    call: {
      ...{ wireId: row.wire_id, appId: row.app_id, session, method, name, digest, body },
      idempotencyKey: row.idempotency_key,
      isSafe: row.is_safe === 1,
      isSafeAcross: row.is_safe_across === 1,
      startedAtMs: row.started_at_ms,
    },
    cursor: row.cursor,
    isTold: row.is_told === 1,
    outcome: row.outcome,
  };
}
