/**
 * The sessions of a runtime: born, found, restored, put to rest, ended.
 *
 *     log ──find──▶ in memory ──hibernate──▶ log         (the session is the same)
 *                       └──DELETE, rested too long──▶ tombstone
 *
 * An id is never adopted, revived or reissued [C S-04].
 */
import { createHash, randomBytes } from "node:crypto";
import type { EndReason, Op, SessionId } from "@holdfast/log";
import type { IncomingRequest } from "./incoming.ts";
import { bounds } from "./options.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { Session, type SessionEvents } from "./session.ts";
import type { OpenOutcome } from "./session-calls.ts";
import { newSessionData, readSessionData, writeSessionData } from "./session-data.ts";
import type { ForwardedHeaders } from "./upstream.ts";

export type Absence = "unknown" | EndReason;

export type Lookup =
  | { readonly kind: "live"; readonly session: Session }
  | { readonly kind: "absent"; readonly reason: Absence };

/** [C S-09] 192 random bits, visible ASCII. */
const sessionIdBytes = 24;

export class Sessions {
  readonly #context: RuntimeContext;
  readonly #live = new Map<SessionId, Session>();
  /** Look-ups under way, so that one session is not restored twice. */
  readonly #loading = new Map<SessionId, Promise<Lookup>>();
  readonly #opening = new Set<Session>();
  readonly #events: SessionEvents;
  #onCallOver: (() => void)[] = [];

  constructor(context: RuntimeContext) {
    this.#context = context;
    this.#events = {
      onEnded: (session) => this.#live.delete(session.id),
      onCallOver: () => {
        for (const listener of this.#onCallOver) listener();
      },
    };
  }

  get size(): number {
    return this.#live.size;
  }

  /** Calls that run, or wait for one that does. */
  get callsInFlight(): number {
    let calls = 0;
    for (const session of this.#live.values()) calls += session.calls.inFlight.size;
    return calls;
  }

  /** A session that is in memory. */
  peek(id: SessionId): Session | undefined {
    return this.#live.get(id);
  }

  all(): readonly Session[] {
    return [...this.#live.values()];
  }

  /**
   * Begin a session with its `initialize`; both are in the log when this resolves.
   *
   * @throws what the log throws: there is no session
   */
  async create(
    request: IncomingRequest,
    principal: string,
    headers: ForwardedHeaders,
  ): Promise<{ readonly session: Session; readonly outcome: OpenOutcome }> {
    const id = randomBytes(sessionIdBytes).toString("base64url") as SessionId;
    const tag = tagOf(id);
    const data = newSessionData(request.text, clientNameOf(request));
    const birth: Op = { op: "create", tag, principal, data: writeSessionData(data) };
    const session = new Session(
      this.#context,
      { id, tag, principal, data, nextStream: 1, headers },
      this.#events,
    );
    this.#opening.add(session);
    try {
      const outcome = await session.calls.open([request], { creation: [birth] });
      if (outcome.kind === "opened") {
        this.#live.set(id, session);
        this.#context.telemetry.sessionBegun(tag, data.clientName);
      }
      return { session, outcome };
    } finally {
      this.#opening.delete(session);
    }
  }

  /** Sessions that are being opened: the log does not count them yet. */
  opening(principal: string | undefined): number {
    let count = 0;
    for (const session of this.#opening) {
      if (principal === undefined || session.principal === principal) count++;
    }
    return count;
  }

  /**
   * The session with an id, as far as the principal may know of it [C S-06].
   *
   * @throws what the log throws
   */
  async find(id: SessionId, principal: string, headers: ForwardedHeaders): Promise<Lookup> {
    const session = this.#live.get(id);
    // What comes while the end is being written finds what comes of it.
    if (session?.isOver === true) await session.endSettled();
    if (session !== undefined && !session.isOver) {
      return session.principal === principal ? { kind: "live", session } : unknown;
    }
    const state = await this.#context.log.session(id);
    if (state === undefined || state.principal !== principal) return unknown;
    return this.#restoreOnce(id, headers);
  }

  /** The session with an id, for the runtime's own ends. @throws what the log throws */
  restore(id: SessionId, headers: ForwardedHeaders = {}): Promise<Lookup> {
    return this.#restoreOnce(id, headers);
  }

  onEvicted(session: SessionId, stream: number, through: number): void {
    this.#live.get(session)?.onEvicted(stream, through);
  }

  /** Resolves when no call runs any more. */
  async allCallsOver(): Promise<void> {
    while (this.callsInFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onCallOver.push(resolve);
      });
      this.#onCallOver = [];
    }
  }

  /** Tell the log of sessions in use [C S-02]. */
  async storeTouches(): Promise<void> {
    await Promise.all(this.all().map((session) => session.storeTouch()));
  }

  /**
   * [C S-02] [C S-03] End sessions that rested too long, a bounded number at a time.
   *
   * @returns true when there may be more
   */
  async expire(touchLagMs: number): Promise<boolean> {
    const { idleTtlMs } = this.#context.options;
    const unusedTtlMs = Math.min(bounds.unusedTtlMs, idleTtlMs);
    const limits = { idleTtlMs, unusedTtlMs, touchLagMs, sessions: bounds.expireSessionsMax };
    const rested = await this.#context.log.rested(limits);
    for (const id of rested) {
      const live = this.#live.get(id);
      const ttlMs = live?.isUsed === false ? unusedTtlMs : idleTtlMs;
      // The log may not know yet of its newest use.
      if (live !== undefined && (live.restedMs ?? 0) < ttlMs) continue;
      const found = await this.restore(id);
      if (found.kind !== "live") continue;
      await found.session.end("expired");
      this.#context.logger.info({ session: found.session.tag }, "session expired");
    }
    return rested.length === bounds.expireSessionsMax;
  }

  /** Put sessions out of memory in which nothing has happened for long; their upstreams end. */
  async hibernate(quietMs: number): Promise<void> {
    for (const session of this.all()) {
      if ((session.quietMs ?? 0) < quietMs || session.version === undefined) continue;
      this.#live.delete(session.id);
      this.#context.logger.info({ session: session.tag }, "session hibernates");
      await session.suspend();
    }
  }

  #restoreOnce(id: SessionId, headers: ForwardedHeaders): Promise<Lookup> {
    const loading = this.#loading.get(id) ?? this.#load(id, headers);
    this.#loading.set(id, loading);
    return loading.finally(() => this.#loading.delete(id));
  }

  async #load(id: SessionId, headers: ForwardedHeaders): Promise<Lookup> {
    const live = this.#live.get(id);
    await live?.endSettled();
    if (live !== undefined && !live.isOver) return { kind: "live", session: live };
    const state = await this.#context.log.session(id);
    if (state === undefined) return unknown;
    const { tag, principal, nextStream, ended } = state;
    if (ended !== undefined) return { kind: "absent", reason: ended };
    const data = readSessionData(state.data);
    const session = new Session(
      this.#context,
      { id, tag, principal, data, nextStream, headers },
      this.#events,
    );
    if (!(await session.restore())) return { kind: "absent", reason: "ended" };
    this.#live.set(id, session);
    return { kind: "live", session };
  }
}

const unknown: Lookup = { kind: "absent", reason: "unknown" };

/** [C E-02] What stands for a session in event ids and logs: it tells nothing of the id. */
function tagOf(id: SessionId): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

function clientNameOf(request: IncomingRequest): string | undefined {
  const info = request.params?.["clientInfo"];
  if (typeof info !== "object" || info === null) return undefined;
  const name: unknown = "name" in info ? info.name : undefined;
  return typeof name === "string" ? name : undefined;
}
