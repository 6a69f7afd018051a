/**
 * A session that another node runs, as this node serves it: its streams are read from the store, its
 * messages go there, and through the inbox to the owner [C N-01].
 *
 *     POST ─▶ commit [open, send calls] ─▶ first byte ─▶ commit [send go] ─▶ owner
 *
 * It is a view, and keeps nothing that the store does not have, but for its viewports.
 */
import { standaloneStream } from "@holdfast/contract";
import type {
  CommitOutcome,
  EndReason,
  Holding,
  KeyClaim,
  Op,
  SessionState,
  StreamState,
} from "@holdfast/log";
import { recordOf } from "../calls.ts";
import { CommitQueue } from "../commit-queue.ts";
import { payloadDigest } from "../idempotency/payload.ts";
import type { Incoming } from "../incoming.ts";
import { bounds } from "../options.ts";
import { Rest } from "../rest.ts";
import type { RuntimeContext } from "../runtime-context.ts";
import { isPrimed, readSessionData, type SessionData } from "../session-data.ts";
import type {
  EndOutcome,
  PostedCalls,
  PostOutcome,
  SessionFace,
  TellOutcome,
} from "../session-face.ts";
import type { ForwardedHeaders } from "../upstream.ts";
import { newViewer } from "../viewer.ts";
import { Viewports } from "../viewports.ts";
import { type InboxText, writeInboxText } from "./inbox-entry.ts";

export interface RemoteHost {
  /** A commit said who owns the session: perhaps nobody. */
  onHolding(session: RemoteSession, holding: Holding): void;
}

export class RemoteSession implements SessionFace {
  readonly id: SessionState["session"];
  readonly tag: string;
  readonly principal: string;
  readonly viewports: Viewports;
  readonly #context: RuntimeContext;
  readonly #host: RemoteHost;
  readonly #commits: CommitQueue;
  readonly #rest: Rest;
  #data: SessionData;
  #holding: Holding | undefined;
  #heldCalls = 0;
  #heldStreams = 0;
  /** What this node waits for from whoever runs it. */
  #wants = 0;

  constructor(
    context: RuntimeContext,
    state: SessionState,
    viewports: Viewports | undefined,
    host: RemoteHost,
  ) {
    this.#context = context;
    this.#host = host;
    this.id = state.session;
    this.tag = state.tag;
    this.principal = state.principal;
    this.#data = readSessionData(state.data);
    this.#holding = state.holding;
    this.#rest = new Rest(context.clock, this.#data.initialized !== undefined);
    this.#commits = new CommitQueue(context.log, this.id, this.tag, {
      onFailure: (error) =>
        context.logger.warn({ session: this.tag, error }, "the store does not take writes"),
      onHealed: () => context.logger.info({ session: this.tag }, "the store takes writes again"),
      // What waits here is the word that calls may begin: their owner gives up on a node that is away.
      onStuck: () => undefined,
      patienceMs: context.options.storePatienceMs,
      onFenced: () => undefined,
    });
    this.viewports = viewports ?? new Viewports(this.#viewportHost(), context);
    viewports?.serve(this.#viewportHost());
  }

  get version(): string | undefined {
    return this.#data.version;
  }

  get isPrimed(): boolean {
    return isPrimed(this.#data, this.#context.options.noPrime);
  }

  /** The owner knows; what it cannot take waits in the inbox, which has a bound of its own. */
  get isOverloaded(): boolean {
    return false;
  }

  get load(): { readonly calls: number; readonly streams: number } {
    const { calls = 0, streams = 0 } = this.#holding ?? {};
    return { calls: calls + this.#heldCalls, streams: streams + this.#heldStreams };
  }

  get owner(): Holding["owner"] {
    return this.#holding?.owner;
  }

  /** [C N-03] An attached viewport counts as asking for the session. */
  get isWanted(): boolean {
    return this.viewports.size > 0 || this.#wants > 0;
  }

  /** @returns says that it is wanted no more, once */
  want(): () => void {
    this.#wants++;
    return () => {
      this.#wants--;
    };
  }

  /** The state as it was read just now. */
  refresh(state: SessionState): void {
    this.#holding = state.holding;
    if (this.#data.version === undefined) this.#data = readSessionData(state.data);
  }

  hold(calls: number): () => void {
    this.#heldCalls += calls;
    this.#heldStreams++;
    return () => {
      this.#heldCalls -= calls;
      this.#heldStreams--;
    };
  }

  touch(): void {
    this.#rest.use();
  }

  /** Let the log know, lazily, that the session is in use here. */
  async storeTouch(): Promise<void> {
    if (!this.#rest.tell(this.viewports.size > 0)) return;
    await this.#commits.tryOnce([touchOp]).catch(() => undefined);
  }

  async open(posted: PostedCalls): Promise<PostOutcome> {
    const [first] = posted.requests;
    if (posted.key === undefined || first === undefined)
      return withoutClaim(await this.#open(posted));
    const digest = payloadDigest(first.method, first.text);
    if (digest === undefined) return { kind: "deep" };
    const claim: KeyClaim = { ...posted.key, digest, isRerun: false };
    const outcome = await this.#open(posted, { claim });
    if (outcome.kind !== "claimed") return outcome;
    if (outcome.claim.digest !== digest) return { kind: "reuse" };
    // What comes of it depends on the upstream: the owner finds out.
    return withoutClaim(await this.#open(posted, { waitsFor: claim }));
  }

  async tell(messages: readonly Incoming[], headers: ForwardedHeaders): Promise<TellOutcome> {
    const texts = messages.map(({ text }) => text);
    const outcome = await this.#send({ kind: "tell", messages: texts, headers });
    if (outcome.kind === "committed") return { kind: "told" };
    return { kind: outcome.kind === "full" ? "full" : "absent" };
  }

  async attach(stream: number, former?: StreamState): Promise<string> {
    const viewer = newViewer(former?.viewer);
    const ops: Op[] = [{ op: "attach", stream, viewer }, touchOp];
    if (stream === standaloneStream) ops.push(sendOp({ kind: "listen" }));
    const outcome = await this.#commits.tryOnce(ops);
    this.#note(outcome);
    return viewer;
  }

  /** The owner ends it, so that its calls get their outcomes; the log says when that is done. */
  async end(reason: EndReason): Promise<EndOutcome> {
    const unwant = this.want();
    let news = Promise.withResolvers<void>();
    const unfollow = this.#context.log.follow(this.id, standaloneStream, () => news.resolve());
    const deadline = setTimeout(() => news.reject(new Error("the owner did not end it")), endMs);
    try {
      const outcome = await this.#send({ kind: "end", reason });
      if (outcome.kind === "full") throw new Error("the inbox of the session is full");
      if (outcome.kind !== "committed") return { kind: "absent" };
      for (;;) {
        const state = await this.#context.log.session(this.id);
        if (state === undefined || state.ended !== undefined) return { kind: "ended" };
        await news.promise;
        news = Promise.withResolvers();
      }
    } finally {
      clearTimeout(deadline);
      unfollow();
      unwant();
    }
  }

  /** Nothing more is committed from here: this node runs the session itself, or stops. */
  close(): void {
    this.#commits.close();
  }

  async #open(
    { messages, requests, headers }: PostedCalls,
    keyed: { readonly claim?: KeyClaim; readonly waitsFor?: KeyClaim } = {},
  ): Promise<PostOutcome | Claimed> {
    const startedAtMs = this.#context.clock.wallMs();
    const calls = requests.map((request) => recordOf(request, startedAtMs, keyed.claim));
    const text: InboxText = {
      kind: "calls",
      messages: messages.map((message) => message.text),
      ...{ startedAtMs, headers },
      ...(keyed.waitsFor && { waitsFor: keyed.waitsFor }),
    };
    const ops: Op[] = [{ op: "open", stream: "next", calls }, sendOp(text), touchOp];
    const outcome = await this.#commits.tryOrUndo(ops, ({ begun }) =>
      begun.map(({ stream }) => sendOp({ kind: "drop", stream })),
    );
    if (outcome.kind === "claimed" || outcome.kind === "full") return outcome;
    const begin = outcome.kind === "committed" ? outcome.begun[0] : undefined;
    if (begin === undefined) return { kind: "absent" };
    this.#note(outcome);
    return {
      kind: "opened",
      begin,
      start: () => this.go(begin.stream),
    };
  }

  /** Calls that were sent may begin; said until it is heard. */
  async go(stream: number): Promise<void> {
    this.#note(await this.#commits.add([sendOp({ kind: "go", stream })]));
  }

  async #send(text: InboxText): Promise<CommitOutcome> {
    const outcome = await this.#commits.tryOnce([sendOp(text), touchOp]);
    this.#note(outcome);
    return outcome;
  }

  #note(outcome: CommitOutcome): void {
    if (outcome.kind !== "committed" || outcome.holding === undefined) return;
    this.#holding = outcome.holding;
    this.#host.onHolding(this, outcome.holding);
  }

  #viewportHost() {
    return {
      id: this.id,
      tag: this.tag,
      // Each read says so itself.
      ended: () => undefined,
      ending: () => undefined,
      storeWritten: (position: number) =>
        this.#commits.tryOnce([{ op: "written", stream: standaloneStream, position }]),
      onShown: () => undefined,
      onClosed: () => this.#rest.active(),
    };
  }
}

type Claimed = Extract<CommitOutcome, { readonly kind: "claimed" }>;

function withoutClaim(outcome: PostOutcome | Claimed): PostOutcome {
  if (outcome.kind === "claimed") throw new Error("a call without a key was refused for one");
  return outcome;
}

/** How long an owner may take to end a session, its death and another's take-over included. */
const endMs = 3 * bounds.stallMs;

const touchOp: Op = { op: "touch", isUsed: true };

function sendOp(text: InboxText): Op {
  return { op: "send", text: writeInboxText(text) };
}
