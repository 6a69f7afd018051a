/**
 * Who runs which session, where many nodes share a log: taken over when they are asked for, handed
 * over when this node drains, let go of when another has them.
 *
 *     remote ──owner gone, asked for──▶ own ──fenced, lease in doubt──▶ remote
 *                                        └──drain, hibernate──▶ handed over ──▶ remote
 *
 * A viewport stays where its socket is, whoever runs the session.
 */
import type {
  AcquireOutcome,
  EndReason,
  NodeId,
  Op,
  SessionId,
  SessionState,
  SharedLog,
} from "@holdfast/log";
import { recordOf } from "../calls.ts";
import type { Keys } from "../idempotency/keys.ts";
import type { IncomingRequest } from "../incoming.ts";
import { OwnSession } from "../own-session.ts";
import type { RuntimeContext } from "../runtime-context.ts";
import type { Session } from "../session.ts";
import type { SessionBirth } from "../session-birth.ts";
import type { PostOutcome, SessionFace } from "../session-face.ts";
import type { ForwardedHeaders } from "../upstream.ts";
import { readInboxText, writeInboxText } from "./inbox-entry.ts";
import { Membership } from "./membership.ts";
import { Ownership } from "./ownership.ts";
import { RemoteSession } from "./remote-session.ts";

export type Found =
  | { readonly kind: "own"; readonly own: OwnSession }
  /** Another node runs it. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "absent"; readonly reason: "unknown" | EndReason };

/** The registry of the sessions that this process runs. */
export interface OwnSessions {
  own(): readonly OwnSession[];
  live(id: SessionId): OwnSession | undefined;
  enter(own: OwnSession): void;
  remove(session: Session): void;
  build(state: SessionState, rest: Pick<SessionBirth, "fence" | "viewports" | "headers">): Session;
  restore(id: SessionId): Promise<Found>;
}

export class NodeSessions {
  readonly #context: RuntimeContext;
  readonly #shared: SharedLog;
  readonly #keys: Keys;
  readonly #sessions: OwnSessions;
  readonly #membership: Membership;
  readonly #remotes = new Map<SessionId, RemoteSession>();
  /** Sessions on their way out, until the store knows that they are free. */
  readonly #leaving = new Map<SessionId, Promise<void>>();
  #isPassingOn = false;
  #unfollow: (() => void) | undefined;

  constructor(context: RuntimeContext, shared: SharedLog, keys: Keys, sessions: OwnSessions) {
    this.#context = context;
    this.#shared = shared;
    this.#keys = keys;
    this.#sessions = sessions;
    this.#membership = new Membership(shared, context.clock, context.logger, {
      onLost: () => this.#loseAll(),
      onNodes: () => this.#onNodes(),
    });
  }

  /** This node's lease runs, beyond doubt [C N-05]. */
  get isMember(): boolean {
    return this.#membership.isMember;
  }

  /** [C D-02] This node drains: what is new is for others. */
  get isPassingOn(): boolean {
    return this.#isPassingOn;
  }

  start(openedAtMs: number): void {
    this.#unfollow = this.#shared.followInbox((id) => this.#onInbox(id));
    this.#membership.start(openedAtMs);
  }

  stop(): void {
    this.#unfollow?.();
    this.#membership.stop();
    for (const remote of this.#remotes.values()) remote.close();
    this.#remotes.clear();
  }

  remotes(): readonly RemoteSession[] {
    return [...this.#remotes.values()];
  }

  /** Whether another node runs a session, as far as this one knows. */
  isElsewhere({ holding }: SessionState): boolean {
    if (this.#isPassingOn) return true;
    const owner = holding?.owner;
    return owner !== undefined && owner !== this.#shared.node && this.#membership.isAlive(owner);
  }

  remote(state: SessionState): { readonly kind: "live"; readonly session: SessionFace } {
    const known = this.#remotes.get(state.session);
    known?.refresh(state);
    return { kind: "live", session: known ?? this.#addRemote(state) };
  }

  /** The same for a session that was found to be run elsewhere. */
  async remoteNow(id: SessionId) {
    const state = await this.#context.log.session(id);
    if (state === undefined) return { kind: "absent", reason: "unknown" } as const;
    if (state.ended !== undefined) return { kind: "absent", reason: state.ended } as const;
    return this.remote(state);
  }

  /** Somebody here waits for what another node runs. @returns says that it is no more, once */
  want(id: SessionId): () => void {
    let unwant: (() => void) | undefined;
    let isOver = false;
    if (this.#sessions.live(id) === undefined) {
      void this.#context.log.session(id).then((state) => {
        if (isOver || state === undefined || this.#sessions.live(id) !== undefined) return;
        unwant = (this.#remotes.get(id) ?? this.#addRemote(state)).want();
      }, ignored);
    }
    return () => {
      isOver = true;
      unwant?.();
    };
  }

  ownershipOf(session: Session, fence: number): Ownership {
    return new Ownership(session, {
      log: this.#context.log,
      shared: this.#shared,
      fence,
      waitForKey: (call, ...given) => this.#keys.serve(session, call, ...given),
      onFenced: () => this.lose(session),
    });
  }

  /**
   * Run a session here, unless another node does: its running calls that nobody began are begun, the
   * others are closed [C X-05].
   *
   * @throws what the log throws: it is asked for again
   */
  async adopt(id: SessionId, headers: ForwardedHeaders): Promise<Found> {
    await this.#leaving.get(id);
    const acquired = await this.#acquire(id);
    if (acquired.kind === "held") return { kind: "elsewhere" };
    const state = await this.#context.log.session(id);
    if (state === undefined) return { kind: "absent", reason: "unknown" };
    if (acquired.kind === "absent") return { kind: "absent", reason: state.ended ?? "unknown" };
    const { fence } = acquired;
    const remote = this.#remotes.get(id);
    const session = this.#sessions.build(state, { fence, viewports: remote?.viewports, headers });
    const ownership = this.ownershipOf(session, fence);
    // Streams that are opened from here on have their entries in what is taken next.
    const running = await this.#context.log.running(id);
    const entries = await ownership.takeFirst();
    const waiting = new Set(
      entries.flatMap((entry) => {
        const text = readInboxText(entry.text);
        return text.kind === "calls" ? [text.stream ?? entry.stream ?? 0] : [];
      }),
    );
    if (!(await session.restore({ running, waiting, reason: "owner-lost" }))) {
      return { kind: "absent", reason: "ended" };
    }
    const own = new OwnSession(session, this.#keys, ownership);
    this.#sessions.enter(own);
    session.serveViewports();
    remote?.close();
    this.#remotes.delete(id);
    ownership.carryOut(entries);
    this.#context.telemetry.sessionAdopted(state.tag);
    this.#context.logger.info({ session: state.tag, fence }, "session adopted");
    return { kind: "own", own };
  }

  /**
   * Own a session under a fence that nobody had before. One that this node let go of while its lease
   * was in doubt is still its own by the store, and what it sent for it may still be on its way:
   * under the same fence the store would take that too, and give out what was taken again [C N-02].
   */
  async #acquire(id: SessionId): Promise<AcquireOutcome> {
    const acquired = await this.#shared.acquire(id);
    if (acquired.kind !== "owned" || acquired.isTakenOver) return acquired;
    await this.#shared.release(id, acquired.fence);
    return this.#shared.acquire(id);
  }

  /** Another node runs the session, or may: nothing more is done with it here [C N-02]. */
  lose(session: Session): void {
    if (session.isAbandoned) return;
    const own = this.#sessions.live(session.id);
    own?.ownership?.close();
    this.#sessions.remove(session);
    session.abandon().catch((error: unknown) => {
      this.#context.logger.error({ session: session.tag, error }, "an upstream was not ended");
    });
    this.#context.logger.warn({ session: session.tag }, "session lost to another node");
    this.#keepViewports(session);
  }

  /** Let others run a session; nothing is lost by it. */
  async handOver(own: OwnSession): Promise<void> {
    const { session, ownership } = own;
    if (ownership === undefined) return;
    session.retire();
    const leaving = this.#leave(own, ownership).finally(() => this.#leaving.delete(own.id));
    this.#leaving.set(own.id, leaving);
    this.#sessions.remove(session);
    await leaving;
  }

  /** [C D-02] What runs goes on to its end, what is new is passed on; resolves when all is handed over. */
  async passOn(): Promise<void> {
    this.#isPassingOn = true;
    await Promise.all(
      this.#sessions.own().map(async (own) => {
        own.ownership?.passOn();
        await own.session.calls.allOver();
        if (!own.session.isOver && !own.session.isAbandoned) await this.handOver(own);
      }),
    );
  }

  /** [C D-02] A session that another node is to run: its `initialize` waits in its inbox. */
  async createFor(
    id: SessionId,
    birth: Op,
    { request, headers }: { readonly request: IncomingRequest; readonly headers: ForwardedHeaders },
  ): Promise<{ readonly session: SessionFace; readonly outcome: PostOutcome }> {
    const startedAtMs = this.#context.clock.wallMs();
    const calls = [recordOf(request, startedAtMs)];
    const text = { kind: "calls", messages: [request.text], startedAtMs, headers } as const;
    const outcome = await this.#context.log.commit(id, {
      fence: 0,
      ops: [
        birth,
        { op: "open", stream: "next", calls },
        { op: "send", text: writeInboxText(text) },
      ],
    });
    const begin = outcome.kind === "committed" ? outcome.begun.at(-1) : undefined;
    const state = await this.#context.log.session(id);
    if (begin === undefined || state === undefined) throw new Error("a new session is not there");
    const session = this.#addRemote(state);
    const start = async () => {
      await session.go(begin.stream);
      await this.#shared.release(id, 1);
    };
    return { session, outcome: { kind: "opened", begin, start } };
  }

  async #leave({ id, session }: OwnSession, ownership: Ownership): Promise<void> {
    ownership.passOn();
    await ownership.stopTaking();
    const kept = ownership.kept();
    if (kept.length > 0) await session.leaveWord(kept);
    ownership.close();
    await session.suspend();
    this.#keepViewports(session);
    // Said until it is heard: nobody else may run the session while it names this node.
    for (let pauseMs = 100; this.isMember; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      try {
        return await this.#shared.release(id, ownership.fence);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  #loseAll(): void {
    for (const own of this.#sessions.own()) this.lose(own.session);
  }

  /** Who shows the session shows it on, whoever runs it. */
  #keepViewports({ id, state, viewports }: Session): void {
    if (viewports.size > 0) this.#addRemote({ ...state, session: id }, viewports);
  }

  #addRemote(state: SessionState, viewports?: Session["viewports"]): RemoteSession {
    const remote = new RemoteSession(this.#context, state, viewports, {
      onHolding: ({ id }, { owner }) => {
        if (owner === undefined) this.#ask(id);
      },
    });
    this.#remotes.set(remote.id, remote);
    return remote;
  }

  /** The inbox of a session has something, or a session was released. */
  #onInbox(id: SessionId): void {
    const own = this.#sessions.live(id);
    if (own !== undefined) void own.ownership?.catchUp();
    else if (this.#remotes.get(id)?.isWanted === true) this.#ask(id);
    else void this.#lookAt(id).catch(ignored);
  }

  /** A session that is not known here: perhaps nobody runs it, and calls of it wait. */
  async #lookAt(id: SessionId): Promise<void> {
    if (this.#leaving.has(id)) return;
    const state = await this.#context.log.session(id);
    const { owner, calls = 0 } = state?.holding ?? {};
    if (state === undefined || state.ended !== undefined) return;
    const isNobodys = owner === undefined && calls > 0;
    if (isNobodys || owner === this.#shared.node) this.#ask(id);
  }

  #onNodes(): void {
    const isAlive = (node: NodeId) => this.#membership.isAlive(node);
    for (const { ownership, session } of this.#sessions.own()) {
      ownership?.onNodes(isAlive);
      void session.reviewQuestions().catch(ignored);
    }
    for (const [id, remote] of this.#remotes) {
      if (!remote.isWanted) {
        remote.close();
        this.#remotes.delete(id);
      } else if (remote.owner === undefined || !isAlive(remote.owner)) {
        this.#ask(id);
      } else {
        void this.#refresh(remote).catch(ignored);
      }
    }
  }

  /** Who owns what is shown here: it may have changed hands. */
  async #refresh(remote: RemoteSession): Promise<void> {
    const state = await this.#context.log.session(remote.id);
    if (state === undefined) return;
    remote.refresh(state);
    if (state.ended === undefined && state.holding?.owner === undefined) this.#ask(remote.id);
  }

  /** [C N-03] Run the session here, unless another does. */
  #ask(id: SessionId): void {
    if (this.#isPassingOn || !this.isMember) return;
    this.#sessions.restore(id).then(async ({ kind }) => {
      const remote = this.#remotes.get(id);
      const state = kind === "elsewhere" && remote && (await this.#context.log.session(id));
      if (remote !== undefined && state) remote.refresh(state);
    }, ignored);
  }
}

/** The store is away: what was asked is asked again when it is back, by the next renewal. */
const ignored = () => undefined;
