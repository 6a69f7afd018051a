/**
 * What one started transport consists of: its state, its ledger, its streams and its session, and
 * the way to the application. Wiring, and the few facts that all of them need.
 */

import type { ContractReport, Gap, Parked, SessionEnded, UnknownOutcome } from "./app-events.ts";
import { Ledger } from "./calls/ledger.ts";
import { loadLedger } from "./calls/load-ledger.ts";
import { RecoveredCalls } from "./calls/recovered.ts";
import { Annotations } from "./calls/safe-to-repeat.ts";
import type { HttpOutcome } from "./http/exchange.ts";
import { Inbox } from "./inbox.ts";
import type { Settings } from "./options.ts";
import { restoredSession, type Session } from "./sessions/session.ts";
import { SessionRunner } from "./sessions/session-runner.ts";
import type { StateChange } from "./state/client-state.ts";
import { type StateWriter, stateWriter } from "./state/state-writer.ts";
import { type WireIds, wireIds } from "./state/wire-ids.ts";
import { eventsBetween, streamOf } from "./streams/cursors.ts";
import type { PostStream } from "./streams/post-stream.ts";
import type { StandaloneStream } from "./streams/standalone-stream.ts";
import type { StreamAction, StreamRules } from "./streams/stream-machine.ts";

/** The application, as it is reached. Never throws. */
export interface AppSide {
  /**
   * @param came - how it came; undefined: nobody sent it, it is made here
   * @returns a promise when there is no room for more
   */
  handOn(message: object, came: Came | undefined): Promise<void> | undefined;
  onError(error: Error): void;
  onGap(gap: Gap): void;
  /** @param response - what tells it as an answer of the call */
  onUnknownOutcome(outcome: UnknownOutcome, response: object): void;
  onSessionEnded(ended: SessionEnded): void;
  onParked(parked: Parked): void;
  onResumed(): void;
  onContract(report: ContractReport): void;
}

/** A message on its way from the server to the application. */
export interface Came {
  /** As the application gets it. */
  text(): string;
  readonly stream: Stream;
  readonly changes: readonly StateChange[];
}

export type Stream = PostStream | StandaloneStream;

/** SDK clients wait 60 s for their initialize: the reason has to come before they give up. */
const startMsMax = 45_000;

/** [C K-12] so many heartbeats may stay out. */
const silentHeartbeatsMax = 3;

export class Connection {
  readonly settings: Settings;
  readonly rules: StreamRules;
  readonly startRules: StreamRules;
  readonly app: AppSide;
  readonly writer: StateWriter;
  readonly ids: WireIds;
  readonly ledger: Ledger;
  readonly recovered: RecoveredCalls;
  readonly annotations = new Annotations();
  readonly streams = new Set<Stream>();
  readonly #byCall = new Map<number, PostStream>();
  readonly inbox: Inbox;
  readonly sessions: SessionRunner;
  #room: Promise<void> | undefined;

  /** @throws ClientError as `ClientState.open` */
  constructor(settings: Settings, app: AppSide) {
    const { policy, gapRecovery, state, internals } = settings;
    this.settings = settings;
    this.app = app;
    this.rules = { policy, gapRecovery, lingerMs: internals.lingerMs };
    const maxElapsedMs = Math.min(policy.maxElapsedMs, startMsMax);
    this.startRules = { ...this.rules, policy: { ...policy, maxElapsedMs } };
    const stored = state.open(internals.clock.wallMs());
    this.ids = wireIds(state);
    this.writer = stateWriter(state, (error) => app.onError(error));
    this.ledger = new Ledger(this.writer);
    this.recovered = new RecoveredCalls(this.ledger);
    this.inbox = new Inbox(this);
    const here = stored.sessions.filter(({ url }) => url === settings.url.href);
    const restored = here.map(restoredSession);
    this.sessions = new SessionRunner(this, restored, stored);
    loadLedger(this, stored, restored);
  }

  silenceMsMax({ capability }: Session): number | null {
    const heartbeatMs = capability?.heartbeatMs ?? 0;
    return heartbeatMs > 0 ? heartbeatMs * silentHeartbeatsMax : null;
  }

  streamOf(wireId: number): PostStream | undefined {
    return this.#byCall.get(wireId);
  }

  add(stream: Stream): void {
    this.streams.add(stream);
    if (stream.lane === "call" && stream.wireId !== null) this.#byCall.set(stream.wireId, stream);
  }

  remove(stream: Stream): void {
    this.streams.delete(stream);
    if (stream.lane === "call" && stream.wireId !== null) this.#byCall.delete(stream.wireId);
  }

  /** The response to a call has come, on whichever stream. */
  settle(wireId: number): void {
    this.streamOf(wireId)?.runner.dispatch({ type: "settled" });
  }

  /** Set while the application has no room: nothing more is read before it resolves. */
  get room(): Promise<void> | undefined {
    return this.#room;
  }

  /** A message goes to the application. */
  handOn(message: object, came?: Came): void {
    const room = this.app.handOn(message, came);
    if (room === undefined) return;
    this.#room = room;
    const free = () => {
      if (this.#room === room) this.#room = undefined;
    };
    room.then(free, free);
  }

  /** [C K-08] before any later event of that stream. */
  tellGap(
    stream: Stream,
    { from, to }: Extract<StreamAction, { do: "gap" }>,
    last: HttpOutcome | undefined,
  ): void {
    const refusal = last?.kind === "refused" ? last.refusal : null;
    const end = to.at === "none" ? null : to.cursor;
    // Going on at the head skips what is still there, too.
    const skipped = to.at === "head" ? eventsBetween(from, end) : (refusal?.lostEvents ?? null);
    const gap: Gap = {
      type: "resume-window-exceeded",
      lane: stream.lane,
      stream: refusal?.stream ?? streamOf(from),
      from,
      to: end,
      lostEvents: end === null ? null : skipped,
      requestIds: stream.requestIds(),
    };
    this.app.onGap(gap);
  }
}
