/**
 * What the runtime tells of itself: one narrow door, a named function for each thing that happens.
 *
 * Counts are plain numbers that instruments read when they are scraped (instruments.ts); a span
 * goes with each call (call-trace.ts); whoever watches gets marks (marks.ts). All by the API of
 * OpenTelemetry: where no SDK is registered it costs next to nothing.
 *
 * [C P-03] Labels are closed unions; no id, key, token or body is in any of it.
 */

import { type OutcomeUnknownReason, type RefusalType, refusals } from "@holdfast/contract";
import type { Clock, CommitOutcome, EndReason, EventLog, Eviction, Op } from "@holdfast/log";
import {
  type MeterProvider,
  metrics,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { InFlightCall } from "../calls.ts";
import type { IncomingRequest } from "../incoming.ts";
import { bounds } from "../options.ts";
import type { ViewportEnd } from "../viewport.ts";
import { CallTrace } from "./call-trace.ts";
import { Horizon } from "./horizon.ts";
import { type Gauges, Instruments } from "./instruments.ts";
import { type LatencyFacts, LatencySketch } from "./latency-sketch.ts";
import type { CallOutcome, Mark, Observe } from "./marks.ts";
import { Tally } from "./tally.ts";

/** How a GET with a cursor was answered; `gap` is the status 410, `inband` the same in a stream. */
export type ResumeOutcome = "clean" | "gap" | "inband" | "refused" | "complete";

/** A repeated idempotency key: joined a running call, got a kept outcome, had another payload. */
export type IdempotentHit = "attach" | "replay" | "conflict";

export interface TelemetryParts {
  readonly clock: Clock;
  readonly windowMs: number;
  /** By default the global ones of `@opentelemetry/api`, as they are when the runtime is made. */
  readonly meterProvider?: MeterProvider | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
  readonly observe?: Observe | undefined;
}

/** What the metrics say, as one value; times in milliseconds. */
export interface RuntimeFacts {
  readonly windowMs: number;
  readonly horizonMs: number;
  readonly headroomMs: number;
  readonly reconnects: LatencyFacts;
  readonly sessionsCreated: number;
  readonly sessionsEnded: Readonly<Record<string, number>>;
  readonly calls: number;
  readonly eventsAppended: number;
  readonly eventsReplayed: number;
  readonly breaches: number;
  readonly resumes: Readonly<Record<string, number>>;
  readonly takeovers: number;
  readonly unknownOutcomes: number;
  readonly logErrors: number;
}

const scope = "@holdfast/server";

const endReasons: readonly EndReason[] = ["deleted", "expired", "ended"];
/** A record, so that none can be forgotten. */
const viewportEnds: Readonly<Record<ViewportEnd, true>> = {
  finished: true,
  ended: true,
  "taken-over": true,
  released: true,
  evicted: true,
  stalled: true,
  disconnected: true,
  unstored: true,
};
/** Those that a server can find; the others are a client's. */
const unknownReasons: readonly OutcomeUnknownReason[] = [
  "process-restarted",
  "upstream-exited",
  "owner-lost",
  "session-ended",
  "window-expired",
];

export class Telemetry {
  readonly sessionsEnded = new Tally<EndReason>(endReasons);
  readonly viewportsDetached = new Tally(Object.keys(viewportEnds) as ViewportEnd[]);
  readonly resumes = new Tally<ResumeOutcome>(["clean", "gap", "inband", "refused", "complete"]);
  readonly eventsEvicted = new Tally<Eviction["cause"]>(["window", "count", "bytes"]);
  readonly unknownOutcomes = new Tally<OutcomeUnknownReason>(unknownReasons);
  readonly idempotentHits = new Tally<IdempotentHit>(["attach", "replay", "conflict"]);
  readonly refusals = new Tally(Object.keys(refusals) as RefusalType[]);
  oversizedEvents = 0;
  sessionsCreated = 0;
  viewportsAttached = 0;
  takeovers = 0;
  calls = 0;
  eventsAppended = 0;
  bytesAppended = 0;
  eventsReplayed = 0;
  bytesEvicted = 0;
  breaches = 0;
  logErrors = 0;
  fencedAppends = 0;
  adoptions = 0;
  readonly reconnects: LatencySketch;
  readonly horizon: Horizon;
  readonly #clock: Clock;
  readonly #windowMs: number;
  #logFailedAtMs: number | undefined;
  readonly #tracer: Tracer;
  readonly #instruments: Instruments;
  readonly #observe: Observe | undefined;

  constructor(parts: TelemetryParts) {
    const { clock, windowMs, observe } = parts;
    this.reconnects = new LatencySketch(clock);
    this.horizon = new Horizon(windowMs, clock);
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#observe = observe;
    this.#tracer = (parts.tracerProvider ?? trace).getTracer(scope);
    const meter = (parts.meterProvider ?? metrics).getMeter(scope);
    this.#instruments = new Instruments(meter, this, windowMs);
  }

  facts(): RuntimeFacts {
    const { sessionsCreated, calls, eventsAppended, eventsReplayed, takeovers } = this;
    return {
      windowMs: this.#windowMs,
      horizonMs: this.horizon.ms,
      headroomMs: this.headroomMs,
      reconnects: this.reconnects.facts(),
      ...{ sessionsCreated, calls, eventsAppended, eventsReplayed, takeovers },
      sessionsEnded: this.sessionsEnded.toJSON(),
      breaches: this.breaches,
      resumes: this.resumes.toJSON(),
      unknownOutcomes: this.unknownOutcomes.total,
      logErrors: this.logErrors,
    };
  }

  /** The last write failed, a short while ago. */
  get isLogFailing(): boolean {
    const nowMs = this.#clock.monotonicMs();
    return this.#logFailedAtMs !== undefined && nowMs - this.#logFailedAtMs < bounds.logFailingMs;
  }

  /** Begin to report; `gauges` are asked at each scrape. */
  start(gauges: Gauges): void {
    this.#instruments.start(gauges);
  }

  stop(): void {
    this.#instruments.stop();
  }

  /** [C W-06] How far back a cursor is honoured, less what clients need, milliseconds. */
  get headroomMs(): number {
    return this.horizon.ms - this.reconnects.facts().p999Ms;
  }

  sessionBegun(tag: string, client: string | undefined): void {
    this.sessionsCreated++;
    this.#observe?.({ kind: "begun", tag, client });
  }

  sessionEnded(tag: string, reason: EndReason): void {
    this.sessionsEnded.add(reason);
    this.#observe?.({ kind: "ended", tag, reason });
  }

  /** Another node was running the session; this one does now [C N-03]. */
  sessionAdopted(tag: string): void {
    this.adoptions++;
    this.#observe?.({ kind: "adopted", tag });
  }

  /** [C N-02] The store refused what a former owner wanted to append. */
  appendFenced(): void {
    this.fencedAppends++;
  }

  /** The log did not do what it was asked, and may do it when asked again. */
  logFailed(): void {
    this.logErrors++;
    this.#logFailedAtMs = this.#clock.monotonicMs();
  }

  /** The log, with its commits told of. */
  watch(log: Pick<EventLog, "commit">): Pick<EventLog, "commit"> {
    return {
      commit: (session, commit) => {
        const beganAtMs = this.#clock.monotonicMs();
        const done = log.commit(session, commit);
        // Before whoever asked for it goes on: what follows from an event is told after it.
        done.then(
          (outcome) => this.#committed(commit.ops, outcome, this.#clock.monotonicMs() - beganAtMs),
          () => this.logFailed(),
        );
        return done;
      },
    };
  }

  #committed(ops: readonly Op[], outcome: CommitOutcome, tookMs: number): void {
    this.#logFailedAtMs = undefined;
    if (outcome.kind === "fenced") this.appendFenced();
    if (outcome.kind !== "committed") return;
    let appended = 0;
    for (const op of ops) {
      if (op.op !== "append") continue;
      const place = outcome.appended[appended];
      appended++;
      const bytes = Buffer.byteLength(op.text);
      this.bytesAppended += bytes;
      if (this.#observe === undefined || place === undefined) continue;
      const { tag, stream, position } = place;
      this.#observe({ kind: "appended", tag, stream, position, event: op.kind, bytes });
    }
    if (appended === 0) return;
    this.eventsAppended += appended;
    this.#instruments.recordAppend(tookMs / 1000);
  }

  evicted({ cause, events, bytes, isBreach, ageMs }: Eviction): void {
    this.eventsEvicted.add(cause, events);
    this.bytesEvicted += bytes;
    if (!isBreach) return;
    this.breaches += events;
    this.horizon.shorten(ageMs);
  }

  viewportAttached(tag: string, stream: number, after: number, isResume: boolean): void {
    this.viewportsAttached++;
    this.#observe?.({ kind: "attached", tag, stream, after, isResume });
  }

  viewportDetached(tag: string, stream: number, cause: ViewportEnd, shown: number): void {
    this.viewportsDetached.add(cause);
    this.#observe?.({ kind: "detached", tag, stream, cause, shown });
  }

  /** [C R-02] A viewport was let go for another one. */
  takenOver(): void {
    this.takeovers++;
  }

  /** A stream is shown again. @param ms - since its last viewport was lost */
  reconnected(ms: number): void {
    this.reconnects.add(ms);
    this.#instruments.recordReconnect(ms / 1000);
  }

  /** Events were shown that had been appended before their reader came. */
  replayed(events: number): void {
    this.eventsReplayed += events;
  }

  /** A reader came back with a cursor; or the standalone stream had lost events it never saw. */
  resumed(outcome: ResumeOutcome): void {
    this.resumes.add(outcome);
  }

  /** Events are lost to a reader, and it is told. */
  gapServed(tag: string, gap: Omit<Mark & { kind: "gap" }, "kind" | "tag">): void {
    this.resumed(gap.isInBand ? "inband" : "gap");
    this.#observe?.({ kind: "gap", tag, ...gap });
  }

  /** A request was answered with an error of HTTP. */
  refused(type: RefusalType): void {
    this.refusals.add(type);
  }

  /** A message of the upstream was too large to be passed on. */
  eventOversized(): void {
    this.oversizedEvents++;
  }

  idempotentHit(kind: IdempotentHit): void {
    this.idempotentHits.add(kind);
  }

  callsOpened(tag: string, stream: number, requests: readonly IncomingRequest[]): void {
    this.calls += requests.length;
    if (this.#observe === undefined) return;
    const calls = requests.map(({ method, name }) => ({
      method,
      ...(name === undefined ? {} : { name }),
    }));
    this.#observe({ kind: "opened", tag, stream, calls });
  }

  /** @returns the span of a call, where somebody records spans */
  traceCall(tag: string, request: IncomingRequest): CallTrace | undefined {
    return CallTrace.begin(this.#tracer, request, tag);
  }

  callOver(tag: string, call: InFlightCall, outcome: CallOutcome): void {
    call.trace?.end(outcome);
    this.#settled(tag, call.stream, call.index, outcome);
  }

  /** [C X-05] A call of a process that is gone gets its outcome. */
  callAbandoned(
    tag: string,
    call: Pick<InFlightCall, "stream" | "index" | "method" | "name" | "startedAtMs">,
    reason: OutcomeUnknownReason,
  ): void {
    CallTrace.adopted(this.#tracer, call, tag, reason);
    this.#settled(tag, call.stream, call.index, reason);
  }

  #settled(tag: string, stream: number, call: number, outcome: CallOutcome): void {
    if (outcome !== "answered" && outcome !== "cancelled") this.unknownOutcomes.add(outcome);
    this.#observe?.({ kind: "settled", tag, stream, call, outcome });
  }
}
