/**
 * Who is to be woken on this node, and by what: by commits of this node at once, by messages of the
 * others, and, since messages may be lost, by asking the store now and then.
 */
import {
  addFollower,
  createFollowers,
  type Followers,
  type NodeId,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import type { Book } from "./book.ts";
import type { Connections } from "./connections.ts";
import type { Listener } from "./listener.ts";
import { hashOf, type Message, type Recipient, readMessages } from "./messages.ts";

/** Streams, and sessions with something in the inbox, that one question is about. */
const askedMax = 1_000;

/** A row of changes.sql. */
interface ChangeRow {
  readonly name: string;
  readonly stream: number;
  readonly is_over: boolean;
  readonly head: number | null;
  readonly evicted_through: number | null;
  readonly is_finished: boolean;
  readonly viewer: string | null;
}

/** A stream that somebody follows. */
interface Followed {
  readonly session: SessionId;
  readonly stream: number;
  count: number;
  /** Where it stood when those who follow it last had reason to look; unset: not known. */
  seen: string | undefined;
}

/** What a commit, or a sweep, has changed in one session. */
export interface News {
  readonly news: ReadonlySet<number>;
  readonly isEnd: boolean;
  /** Streams as they are now, as far as that is known. */
  readonly states: ReadonlyMap<number, StreamState>;
  /** Set: the inbox has got something. */
  readonly toTell: { readonly row: number; readonly owner: Recipient } | undefined;
}

export interface WakeSources {
  readonly connections: Connections;
  readonly listener: Listener;
  readonly book: Book;
  readonly node: () => NodeId;
}

export class Wakes {
  readonly #followers: Followers = createFollowers();
  readonly #inboxWakes = new Set<(session: SessionId) => void>();
  readonly #nodeWakes = new Set<() => void>();
  readonly #followed = new Map<string, Followed>();
  /** Followed sessions, by hash. */
  readonly #sessions = new Map<string, SessionId>();
  /** Set while the log is open. */
  #sources: WakeSources | undefined;
  #timer: NodeJS.Timeout | undefined;

  start(sources: WakeSources, pollMs: number): void {
    this.#sources = sources;
    const poll = async () => {
      // What cannot be asked now is asked the next time.
      await this.poll().catch(() => {});
      if (sources !== this.#sources) return;
      this.#timer = setTimeout(poll, pollMs);
      this.#timer.unref();
    };
    this.#timer = setTimeout(poll, pollMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#sources = undefined;
    clearTimeout(this.#timer);
  }

  follow(session: SessionId, stream: number, wake: () => void): () => void {
    const leave = this.#followers.follow(session, stream, wake);
    const name = nameOf(session, stream);
    const followed = this.#followed.get(name) ?? { session, stream, count: 0, seen: undefined };
    this.#followed.set(name, followed);
    followed.count += 1;
    this.#sessions.set(hashOf(session), session);
    let isOver = false;
    return () => {
      leave();
      if (isOver) return;
      isOver = true;
      followed.count -= 1;
      if (followed.count > 0) return;
      this.#followed.delete(name);
      if (!this.#followers.isSessionFollowed(session)) this.#sessions.delete(hashOf(session));
    };
  }

  followInbox(wake: (session: SessionId) => void): () => void {
    return addFollower(this.#inboxWakes, wake);
  }

  followNodes(wake: () => void): () => void {
    return addFollower(this.#nodeWakes, wake);
  }

  /** This node looked at a stream: who follows it knows that much. */
  onSeen(
    session: SessionId,
    stream: number,
    state: StreamState | undefined,
    isOver: boolean,
  ): void {
    const followed = this.#followed.get(nameOf(session, stream));
    if (followed !== undefined) followed.seen = seenOf(state, isOver);
  }

  /** A commit of this node took effect. */
  onCommit(session: SessionId, { news, isEnd, states, toTell }: News): void {
    if (news.size > 0 || isEnd || toTell !== undefined) {
      const streams = isEnd ? "all" : [...news];
      const { row, owner } = toTell ?? { row: 0, owner: undefined };
      this.#sources?.listener.tell({ kind: "changed", hash: hashOf(session), row, streams, owner });
    }
    if (this.#followers.isSessionFollowed(session)) {
      for (const stream of news) {
        const followed = this.#followed.get(nameOf(session, stream));
        const state = states.get(stream);
        if (followed !== undefined) followed.seen = state && seenOf(state, isEnd);
      }
    }
    if (isEnd) this.#followers.wakeAll(session);
    else this.#followers.wake(session, news);
    if (toTell !== undefined && this.#isForUs(toTell.owner)) this.#wakeInbox(session);
  }

  /** This node has released a session. */
  onReleased(session: SessionId, row: number): void {
    const hash = hashOf(session);
    this.#sources?.listener.tell({ kind: "changed", hash, row, streams: [], owner: "everyone" });
    this.#wakeInbox(session);
  }

  onLeft(): void {
    this.#sources?.listener.tell({ kind: "left" });
  }

  /** Another node has told something, or this one has. */
  hear(text: string): void {
    const { from, messages } = readMessages(text);
    if (from === this.#sources?.node()) return;
    for (const message of messages) {
      if (message.kind === "left") for (const wake of [...this.#nodeWakes]) wake();
      else this.#hearChange(message);
    }
  }

  /** Ask the store for what no message has told. */
  async poll(): Promise<void> {
    await this.#pollStreams();
    await this.#pollInbox();
  }

  #hearChange({ hash, row, streams, owner }: Extract<Message, { kind: "changed" }>): void {
    const followed = this.#sessions.get(hash);
    const known = this.#sources?.book.byHash(hash);
    if (known !== undefined) known.isOld = true;
    if (followed !== undefined) {
      if (streams === "all") this.#followers.wakeAll(followed);
      else this.#followers.wake(followed, streams);
    }
    if (owner === undefined || !this.#isForUs(owner)) return;
    const session = known?.state.session ?? followed;
    if (session !== undefined) this.#wakeInbox(session);
    else void this.#wakeUnknown(row).catch(() => {});
  }

  #isForUs(recipient: Recipient): boolean {
    return recipient === "everyone" || recipient === this.#sources?.node();
  }

  /** A session that this node has never met. */
  async #wakeUnknown(row: number): Promise<void> {
    if (this.#inboxWakes.size === 0 || this.#sources === undefined) return;
    const rows = await this.#sources.connections.ask<{ name: SessionId }>("name", row);
    for (const { name } of rows) this.#wakeInbox(name);
  }

  async #pollStreams(): Promise<void> {
    const all = [...this.#followed.values()];
    for (let from = 0; from < all.length; from += askedMax) {
      const asked = all.slice(from, from + askedMax);
      const rows = await this.#sources?.connections.ask<ChangeRow>(
        "changes",
        asked.map(({ session }) => session),
        asked.map(({ stream }) => stream),
      );
      for (const row of rows ?? []) this.#compare(row);
    }
  }

  #compare(row: ChangeRow): void {
    const session = row.name as SessionId;
    const followed = this.#followed.get(nameOf(session, row.stream));
    if (followed === undefined) return;
    const seen = seenOfRow(row);
    if (seen === followed.seen) return;
    followed.seen = seen;
    this.#followers.wake(session, [row.stream]);
  }

  async #pollInbox(): Promise<void> {
    if (this.#inboxWakes.size === 0 || this.#sources === undefined) return;
    const { connections, node } = this.#sources;
    const rows = await connections.ask<{ name: SessionId }>("waiting", node(), askedMax);
    for (const { name } of rows) this.#wakeInbox(name);
  }

  #wakeInbox(session: SessionId): void {
    for (const wake of [...this.#inboxWakes]) wake(session);
  }
}

function nameOf(session: SessionId, stream: number): string {
  return `${stream} ${session}`;
}

function seenOf(state: StreamState | undefined, isOver: boolean): string {
  if (state === undefined) return `${isOver}`;
  const { head, evictedThrough, isFinished, viewer } = state;
  return [isOver, head, evictedThrough, isFinished, viewer ?? ""].join(" ");
}

function seenOfRow({ is_over, head, evicted_through, is_finished, viewer }: ChangeRow): string {
  if (head === null) return `${is_over}`;
  return [is_over, head, evicted_through, is_finished, viewer ?? ""].join(" ");
}
