/**
 * What a log that many nodes share can do besides: nodes that live as long as their lease, sessions
 * that one node at a time owns, and messages for the owner.
 *
 * It says nothing of how nodes find each other: they never do, the store is all that they share.
 *
 *     session   free ──acquire──▶ owned (fence 1, 2, 3 …) ──release, leave──▶ free
 *                                   └──lease of the owner over──▶ free
 *
 * Every time is the store's own: no clock of a node decides who owns what.
 */
import type { ReadLimit, SessionId } from "./event-log.ts";

declare const brand: unique symbol;
/** One membership of a process in the log. Once its lease is over it never comes back. */
export type NodeId = string & { readonly [brand]: "NodeId" };

/** A node that says nothing for so long is gone [C N-03]. */
export const leaseMsDefault = 10_000;

/** An inbox that has so many entries takes no more: the commit is refused as `full`. */
export const inboxEntriesMax = 10_000;

/** So much text, in bytes; the entry that crosses it is still taken. */
export const inboxBytesMax = 64 * 2 ** 20;

/** Who runs a session, and what is on its way to the owner. */
export interface Holding {
  /** The node that owns it, alive or not; undefined when it was released. */
  readonly owner: NodeId | undefined;
  /** The newest fencing token; 1 for the node that created it. */
  readonly fence: number;
  /** Number of the newest entry that its inbox ever had; 0 for none. */
  readonly inbox: number;
  /** Calls that run, and the streams that they have. */
  readonly calls: number;
  readonly streams: number;
}

export type AcquireOutcome =
  /**
   * This node owns the session. `isTakenOver`: a fresh incarnation began [C E-02], the fence rose,
   * and whoever held it before can append no more; otherwise it was this node's already.
   */
  | { readonly kind: "owned"; readonly fence: number; readonly isTakenOver: boolean }
  /** A node whose lease runs owns it. */
  | { readonly kind: "held"; readonly owner: NodeId }
  /** The session is unknown or over. */
  | { readonly kind: "absent" };

/** A message for the owner of a session. */
export interface InboxEntry {
  /** 1, 2, 3 … in each session, in the order of the commits. */
  readonly number: number;
  /** The runtime's own text, opaque here. */
  readonly text: string;
  /** The node that sent it. */
  readonly from: NodeId;
  /** The stream that was opened last, before it, in the same commit. */
  readonly stream: number | undefined;
}

export type TakeOutcome =
  | { readonly kind: "taken"; readonly entries: readonly InboxEntry[] }
  /** Another owns the session by now; nothing was taken. */
  | { readonly kind: "fenced" }
  /** The session is unknown or over. */
  | { readonly kind: "absent" };

/**
 * Every method but the two that follow throws a `LogError`: `ERR_LOG_CLOSED` while the log is not open,
 * `ERR_LOG_UNAVAILABLE` when the store is out of reach (what was asked may have been done). Each
 * may be repeated then: what was done once is not done twice.
 */
export interface SharedLog {
  /** Who this process is: a new node at each `open` and `rejoin`. */
  readonly node: NodeId;
  /** How long a node lives without `renew`, milliseconds. */
  readonly leaseMs: number;
  /**
   * Live another `leaseMs` from now, by the store's clock.
   *
   * @returns false when the lease was over: it stays over, also if nobody has noticed
   */
  renew(): Promise<boolean>;
  /** Be another node from now on; what the former one owned is free. */
  rejoin(): Promise<void>;
  /** Be gone: what this node owns is free at once, as if its lease were over [C D-02]. */
  leave(): Promise<void>;
  /** The nodes whose lease runs, in no order. */
  nodes(): Promise<readonly NodeId[]>;
  /**
   * Own a session that is free [C N-02] [C N-03]. In the same step: the fence rises by one, a fresh
   * incarnation begins, and the entries that the former owner took leave the inbox.
   */
  acquire(session: SessionId): Promise<AcquireOutcome>;
  /**
   * Own it no more; does nothing when another owns it by now. Every node is told, so that one that
   * shows the session may take it over at once.
   */
  release(session: SessionId, fence: number): Promise<void>;
  /**
   * Take the next entries of the inbox, in order, within the limit (at least one, however large):
   * no other owner will be given them. Those up to `after` leave the inbox.
   *
   * @param after - number of the newest entry that this owner has; 0 for none. Asked again with
   * the same number, because the answer was lost, it gives the same entries.
   */
  take(session: SessionId, fence: number, after: number, limit: ReadLimit): Promise<TakeOutcome>;
  /**
   * Call `wake` with a session soon after its inbox got an entry, if this node owns it or it was
   * released and nobody does, and soon after it was released. It may be called without cause, and is
   * called again while entries wait that a lost message announced, on the node that owns them.
   *
   * @returns ends it; may be called again
   */
  followInbox(wake: (session: SessionId) => void): () => void;
  /**
   * Call `wake` soon after a node left (not when its lease ran out: nobody sees that happen); it may
   * be called without cause, and a lost message is lost: who must know asks {@link nodes}.
   *
   * @returns ends it; may be called again
   */
  followNodes(wake: () => void): () => void;
}
