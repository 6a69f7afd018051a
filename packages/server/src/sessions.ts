/**
 * The sessions of a runtime: born, found, restored, put to rest, ended.
 *
 *     log ──find──▶ in memory ──hibernate──▶ log         (the session is the same)
 *                       └──DELETE, rested too long──▶ tombstone
 *
 * An id is never adopted, revived or reissued [C S-04]. Where other nodes share the log, who runs
 * which session is decided in nodes/node-sessions.ts.
 */
import { createHash } from "node:crypto";
import type { EndReason, Op, SessionId, SessionState } from "@holdfast/log";
import { Keys } from "./idempotency/keys.ts";
import type { IncomingRequest } from "./incoming.ts";
import { type Found, NodeSessions } from "./nodes/node-sessions.ts";
import { bounds } from "./options.ts";
import { OwnSession } from "./own-session.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { Session } from "./session.ts";
import type { SessionBirth, SessionEvents } from "./session-birth.ts";
import { newSessionData, readSessionData, writeSessionData } from "./session-data.ts";
import type { PostOutcome, SessionFace } from "./session-face.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import type { Viewports } from "./viewports.ts";

export type Absence = "unknown" | EndReason;

export type Lookup =
  | { readonly kind: "live"; readonly session: SessionFace }
  | { readonly kind: "absent"; readonly reason: Absence };

export class Sessions {
  readonly #context: RuntimeContext;
  readonly #keys: Keys;
  /** Set when other nodes share the log. */
  readonly nodes: NodeSessions | undefined;
  readonly #live = new Map<SessionId, OwnSession>();
  /** Look-ups under way, so that one session is not restored twice. */
  readonly #loading = new Map<SessionId, Promise<Found>>();
  readonly #opening = new Set<{ readonly principal: string }>();
  readonly #events: SessionEvents;
  #onCallOver: (() => void)[] = [];

  constructor(context: RuntimeContext) {
    this.#context = context;
    this.#events = {
      onEnded: (session) => this.remove(session),
      onCallOver: () => {
        for (const listener of this.#onCallOver) listener();
      },
      onFenced: (session) => this.nodes?.lose(session),
    };
    this.#keys = new Keys(context, {
      restore: (id) => this.restore(id),
      want: (id) => this.nodes?.want(id) ?? (() => undefined),
    });
    const { shared } = context.log;
    this.nodes = shared && new NodeSessions(context, shared, this.#keys, this);
  }

  /** What is asked of sessions can be answered: the store knows this node. */
  get isServing(): boolean {
    return this.nodes?.isMember ?? true;
  }

  get size(): number {
    return this.#live.size;
  }

  /** Calls that run, or wait for one that does. */
  get callsInFlight(): number {
    let calls = 0;
    for (const { session } of this.#live.values()) calls += session.calls.inFlight.size;
    return calls;
  }

  /** A session that is in memory. */
  peek(id: SessionId): Session | undefined {
    return this.#live.get(id)?.session;
  }

  /** Those that this process runs. */
  all(): readonly Session[] {
    return [...this.#live.values()].map(({ session }) => session);
  }

  own(): readonly OwnSession[] {
    return [...this.#live.values()];
  }

  /** Viewports onto sessions, whoever runs them. */
  viewports(): readonly Viewports[] {
    return [...this.all(), ...(this.nodes?.remotes() ?? [])].map(({ viewports }) => viewports);
  }

  /** The session with an id, if this process runs it. */
  live(id: SessionId): OwnSession | undefined {
    return this.#live.get(id);
  }

  /** This process runs the session from now on. */
  enter(own: OwnSession): void {
    this.#live.set(own.id, own);
  }

  /** This process runs the session no more. */
  remove(session: Session): void {
    if (this.#live.get(session.id)?.session === session) this.#live.delete(session.id);
  }

  /** A session of the log, to be run here. */
  build(state: SessionState, rest: Pick<SessionBirth, "fence" | "viewports" | "headers">): Session {
    const { session: id, tag, principal, nextStream } = state;
    const data = readSessionData(state.data);
    return new Session(
      this.#context,
      { id, tag, principal, data, nextStream, ...rest },
      this.#events,
    );
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
  ): Promise<{ readonly session: SessionFace; readonly outcome: PostOutcome }> {
    const id = this.#context.newSessionId();
    const tag = tagOf(id);
    const data = newSessionData(request.text, clientNameOf(request));
    const birth: Op = { op: "create", tag, principal, data: writeSessionData(data) };
    const opening = { principal };
    this.#opening.add(opening);
    try {
      if (this.nodes?.isPassingOn === true)
        return await this.nodes.createFor(id, birth, { request, headers });
      const nodes = this.nodes && { fence: 1 };
      const session = new Session(
        this.#context,
        { id, tag, principal, data, nextStream: 1, headers, ...nodes },
        this.#events,
      );
      const own = new OwnSession(session, this.#keys, this.nodes?.ownershipOf(session, 1));
      const outcome = await session.calls.open([request], { creation: [birth] });
      if (outcome.kind === "claimed") throw new Error("an initialize has no key");
      if (outcome.kind !== "opened") return { session: own, outcome };
      this.enter(own);
      this.#context.telemetry.sessionBegun(tag, data.clientName);
      return { session: own, outcome: own.opened(outcome, { messages: [], headers }, true) };
    } finally {
      this.#opening.delete(opening);
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
    const own = this.#live.get(id);
    // What comes while the end is being written finds what comes of it.
    if (own?.session.isOver === true) await own.session.endSettled();
    if (own !== undefined && !own.session.isOver && own.ownership?.isPassingOn !== true) {
      return own.principal === principal ? { kind: "live", session: own } : unknown;
    }
    const state = await this.#context.log.session(id);
    if (state === undefined || state.principal !== principal) return unknown;
    return this.reach(state, headers);
  }

  /** A session whose state was read just now, whoever runs it. @throws what the log throws */
  async reach(state: SessionState, headers: ForwardedHeaders = {}): Promise<Lookup> {
    const { session: id } = state;
    if (state.ended !== undefined) return { kind: "absent", reason: state.ended };
    if (this.nodes?.isElsewhere(state) === true) return this.nodes.remote(state);
    const found = await this.#restoreOnce(id, headers);
    if (found.kind === "own") return { kind: "live", session: found.own };
    if (found.kind === "absent") return found;
    return this.nodes?.remoteNow(id) ?? unknown;
  }

  /** The session with an id, run here unless another node runs it. @throws what the log throws */
  restore(id: SessionId, headers: ForwardedHeaders = {}): Promise<Found> {
    return this.#restoreOnce(id, headers);
  }

  onEvicted(session: SessionId, stream: number, through: number): void {
    this.#live.get(session)?.session.onEvicted(stream, through);
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
    const used = [...this.all(), ...(this.nodes?.remotes() ?? [])];
    await Promise.all(used.map((session) => session.storeTouch()));
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
    if (!this.isServing || this.nodes?.isPassingOn === true) return false;
    const rested = await this.#context.log.rested(limits);
    for (const id of rested) {
      const live = this.#live.get(id)?.session;
      const ttlMs = live?.isUsed === false ? unusedTtlMs : idleTtlMs;
      // The log may not know yet of its newest use.
      if (live !== undefined && (live.restedMs ?? 0) < ttlMs) continue;
      const found = await this.restore(id);
      // Whoever runs it ends it.
      if (found.kind !== "own") continue;
      await found.own.session.end("expired");
      this.#context.logger.info({ session: found.own.tag }, "session expired");
    }
    return rested.length === bounds.expireSessionsMax;
  }

  /** Put sessions out of memory in which nothing has happened for long; their upstreams end. */
  async hibernate(quietMs: number): Promise<void> {
    for (const own of this.own()) {
      const { session } = own;
      if ((session.quietMs ?? 0) < quietMs || session.version === undefined) continue;
      this.#context.logger.info({ session: session.tag }, "session hibernates");
      if (this.nodes !== undefined) {
        await this.nodes.handOver(own);
        continue;
      }
      this.remove(session);
      await session.suspend();
    }
  }

  #restoreOnce(id: SessionId, headers: ForwardedHeaders): Promise<Found> {
    const loading = this.#loading.get(id) ?? this.#load(id, headers);
    this.#loading.set(id, loading);
    return loading.finally(() => this.#loading.delete(id));
  }

  async #load(id: SessionId, headers: ForwardedHeaders): Promise<Found> {
    const live = this.#live.get(id);
    await live?.session.endSettled();
    if (live !== undefined && !live.session.isOver) return { kind: "own", own: live };
    if (this.nodes !== undefined) return this.nodes.adopt(id, headers);
    const state = await this.#context.log.session(id);
    if (state === undefined) return unknown;
    if (state.ended !== undefined) return { kind: "absent", reason: state.ended };
    const own = new OwnSession(this.build(state, { headers }), this.#keys, undefined);
    if (!(await own.session.restore())) return { kind: "absent", reason: "ended" };
    this.enter(own);
    return { kind: "own", own };
  }
}

const unknown = { kind: "absent", reason: "unknown" } as const;

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
