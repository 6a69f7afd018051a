/**
 * Sessions as this node knows them, so that a commit can be planned without asking.
 *
 * What is kept may be out of date: other nodes write too. So nothing rests on it alone. A plan names
 * the version that it was made on and the store refuses it when that has passed; an outcome that is
 * no plan counts only when it was made on what was read just now. Least recently used goes first.
 */
import type { Claim, Holding, SessionId, SessionState, StreamState } from "@holdfast/log";
import { hashOf } from "./messages.ts";

export interface SessionEntry {
  /** Of the row. */
  readonly id: number;
  version: number;
  state: SessionState;
  responseBytes: number;
  /** Under which it is appended to, whoever does so. */
  readonly incarnation: string;
  holding: Holding;
  /** What waits in the inbox; the owner may have taken some of it since. */
  inbox: { readonly entries: number; readonly bytes: number };
  /** Another node was heard to have changed it. */
  isOld: boolean;
  /** Those that were asked for and can still change; of a stream that is over nothing is kept. */
  readonly streams: Map<number, StreamState>;
  /** Every stream with a running call is among `streams`. */
  hasRunning: boolean;
  /** Running claims of the session's calls, by their ledger name. */
  readonly claims: Map<string, Claim>;
}

export interface Book {
  entry(id: SessionId): SessionEntry | undefined;
  /** @param hash - as messages name sessions */
  byHash(hash: string): SessionEntry | undefined;
  put(entry: SessionEntry): void;
  drop(id: SessionId): void;
  clear(): void;
}

/** @param sessionsMax - how many are kept */
export function createBook(sessionsMax: number): Book {
  const entries = new Map<SessionId, SessionEntry>();
  const hashes = new Map<string, SessionId>();
  const drop = (id: SessionId) => {
    if (entries.delete(id)) hashes.delete(hashOf(id));
  };
  const put = (entry: SessionEntry) => {
    const id = entry.state.session;
    // A hash costs more than a look.
    if (!entries.delete(id)) hashes.set(hashOf(id), id);
    entries.set(id, entry);
    if (entries.size <= sessionsMax) return;
    for (const oldest of entries.keys()) {
      drop(oldest);
      return;
    }
  };
  return {
    entry: (id) => entries.get(id),
    byHash: (hash) => {
      const id = hashes.get(hash);
      return id === undefined ? undefined : entries.get(id);
    },
    put,
    drop,
    clear: () => {
      entries.clear();
      hashes.clear();
    },
  };
}
