/**
 * What the client keeps over the death of its process [C K-03]: sessions, cursors, the ledger of
 * calls, and how far ids were given out. The interface, and the shapes; two implementations are
 * beside this file. Nothing leaves before it is noted.
 */
import type { JsonObject } from "@holdfast/contract";

export interface StoredSession {
  /** Of this client's own; never used again. */
  readonly key: number;
  /** Where the session is. */
  readonly url: string;
  /** Null: the server names no sessions. */
  readonly sessionId: string | null;
  readonly version: string | null;
  /** Of `initialize`, as the application asked and the server answered. */
  readonly params: JsonObject;
  readonly result: JsonObject;
  /** What is set again in a session that takes its place [C K-07]. */
  readonly setup: SessionSetup;
}

export interface SessionSetup {
  /** Params of the last `logging/setLevel`. */
  readonly logLevel: JsonObject | null;
  /** URIs. */
  readonly subscriptions: readonly string[];
}

export interface StoredCall {
  readonly wireId: number;
  /** Of the session it was sent in. */
  readonly session: number;
  /** The application's id, as JSON. */
  readonly appId: string;
  readonly method: string;
  readonly name: string | null;
  /** Of method and arguments: equal for identical calls [C K-10]. */
  readonly digest: string;
  /** The request as it goes over the wire, as JSON. */
  readonly body: string;
  readonly idempotencyKey: string | null;
  readonly isSafe: boolean;
  readonly isSafeAcross: boolean;
  /** Wall clock, milliseconds since 1970. */
  readonly startedAtMs: number;
}

export interface LedgerEntry {
  readonly call: StoredCall;
  readonly cursor: string | null;
  /** The caller was told that the outcome is unknown. */
  readonly isTold: boolean;
  /** How it ended, as JSON; null: not yet. It was not handed on. */
  readonly outcome: string | null;
}

export interface StoredState {
  /** The newest session, if it is still thought to live. */
  readonly currentSession: number | null;
  readonly sessions: readonly StoredSession[];
  /** Of the standalone stream of each session. */
  readonly cursors: ReadonlyMap<number, string>;
  readonly ledger: readonly LedgerEntry[];
}

export type StateChange =
  | { readonly change: "putSession"; readonly session: StoredSession }
  | { readonly change: "dropSession"; readonly key: number }
  | { readonly change: "setCurrent"; readonly key: number | null }
  | {
      readonly change: "setSessionCursor";
      readonly key: number;
      readonly cursor: string | null;
    }
  | { readonly change: "putCall"; readonly call: StoredCall }
  | { readonly change: "setCallCursor"; readonly wireId: number; readonly cursor: string | null }
  | { readonly change: "setTold"; readonly wireId: number }
  | { readonly change: "setOutcome"; readonly wireId: number; readonly outcome: string }
  | { readonly change: "dropCall"; readonly wireId: number };

export interface ClientState {
  /** False: it dies with the process. */
  readonly isDurable: boolean;
  /**
   * Take the state; nobody else can until it is closed.
   *
   * @param wallMs - now, for who asks who holds it
   * @throws ClientError `ERR_STATE_LOCKED`, `ERR_STATE_CORRUPT`, `ERR_STATE_NEWER`,
   * `ERR_STATE_UNAVAILABLE`
   */
  open(wallMs: number): StoredState;
  /**
   * Take the next {@link idBlock} ids, for ever [C K-14].
   *
   * @returns the first of them; durable when it returns
   */
  reserveIds(): number;
  /**
   * Make changes, all or none, in the order of the commits; durable when it returns, or when the
   * promise that it returns resolves.
   *
   * @throws ClientError `ERR_STATE_UNAVAILABLE`
   */
  commit(changes: readonly StateChange[]): void | Promise<void>;
  close(): void;
}

/** So many ids are reserved at a time [C K-14]. */
export const idBlock = 2 ** 20;
