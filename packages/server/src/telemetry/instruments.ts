/**
 * The instruments under their fixed names, and how each is read. Alert rules and dashboards rest on
 * these names (docs/operating/): they are an interface.
 */
import type {
  Attributes,
  BatchObservableCallback,
  Histogram,
  Meter,
  Observable,
} from "@opentelemetry/api";
import type { Tally } from "./tally.ts";
import type { Telemetry } from "./telemetry.ts";

/** What only the runtime knows, asked at each scrape. */
export interface Gauges {
  /** Live sessions in the log. @throws what the log throws; it is then left out */
  sessions(): Promise<number>;
  callsInFlight(): number;
  viewports(): number;
  /** Sessions that this node holds, where others could [C N-02]. */
  leases(): number;
}

type Sample = readonly [value: number, attributes?: Attributes];

interface Row {
  readonly name: string;
  readonly kind: "counter" | "gauge";
  readonly description: string;
  read(gauges: Gauges): readonly Sample[] | Promise<readonly Sample[]>;
}

/** Upper bounds of the buckets, seconds. */
const appendBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const reconnectBounds = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1800, 3600];

export class Instruments {
  readonly #meter: Meter;
  readonly #rows: readonly Row[];
  readonly #append: Histogram;
  readonly #reconnect: Histogram;
  #stop: (() => void) | undefined;

  constructor(meter: Meter, telemetry: Telemetry, windowMs: number) {
    this.#meter = meter;
    this.#rows = [...liveRows(telemetry), ...wireRows(telemetry), ...logRows(telemetry, windowMs)];
    this.#append = meter.createHistogram("holdfast_append_seconds", {
      description: "From an append's call until it is durable",
      advice: { explicitBucketBoundaries: appendBounds },
    });
    this.#reconnect = meter.createHistogram("holdfast_reconnect_latency_seconds", {
      description: "From the loss of a viewport until its stream is shown again",
      advice: { explicitBucketBoundaries: reconnectBounds },
    });
  }

  recordAppend(seconds: number): void {
    this.#append.record(seconds);
  }

  recordReconnect(seconds: number): void {
    this.#reconnect.record(seconds);
  }

  start(gauges: Gauges): void {
    const made = this.#rows.map((row) => ({ row, observable: makeObservable(this.#meter, row) }));
    const observables = made.map(({ observable }) => observable);
    const observeAll: BatchObservableCallback = async (result) => {
      for (const { row, observable } of made) {
        for (const [value, attributes] of await samplesOf(row, gauges)) {
          result.observe(observable, value, attributes);
        }
      }
    };
    this.#meter.addBatchObservableCallback(observeAll, observables);
    this.#stop = () => this.#meter.removeBatchObservableCallback(observeAll, observables);
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

function makeObservable(meter: Meter, { kind, name, description }: Row): Observable {
  return kind === "counter"
    ? meter.createObservableCounter(name, { description })
    : meter.createObservableGauge(name, { description });
}

async function samplesOf(row: Row, gauges: Gauges): Promise<readonly Sample[]> {
  try {
    return await row.read(gauges);
  } catch {
    // A store out of reach cannot be counted; that it is out of reach, other rows say.
    return [];
  }
}

function liveRows(of: Telemetry): readonly Row[] {
  return [
    gauge("holdfast_sessions", "Live sessions in the log", async ({ sessions }) => [
      [await sessions()],
    ]),
    counter("holdfast_sessions_created_total", "Sessions that began", () => of.sessionsCreated),
    labelled("holdfast_sessions_ended_total", "Sessions that ended", "reason", of.sessionsEnded),
    gauge("holdfast_viewports", "Open viewports", ({ viewports }) => [[viewports()]]),
    counter("holdfast_viewports_attached_total", "Viewports opened", () => of.viewportsAttached),
    labelled(
      "holdfast_viewports_detached_total",
      "Viewports that ended, by cause",
      "cause",
      of.viewportsDetached,
    ),
    gauge("holdfast_calls_in_flight", "Calls that run or wait for one that does", (gauges) => [
      [gauges.callsInFlight()],
    ]),
    counter("holdfast_calls_total", "Calls that were opened", () => of.calls),
    gauge("holdfast_leases", "Sessions of a shared log that this node runs", ({ leases }) => [
      [leases()],
    ]),
  ];
}

function wireRows(of: Telemetry): readonly Row[] {
  return [
    labelled("holdfast_resumes_total", "Requests with a cursor, by outcome", "outcome", of.resumes),
    counter("holdfast_takeovers_total", "Viewports let go for another", () => of.takeovers),
    counter(
      "holdfast_events_replayed_total",
      "Events shown to a reader that came after them",
      () => of.eventsReplayed,
    ),
    labelled(
      "holdfast_unknown_outcomes_total",
      "Calls that ended without anyone knowing how",
      "reason",
      of.unknownOutcomes,
    ),
    labelled(
      "holdfast_idempotent_hits_total",
      "Idempotency keys that were used before",
      "kind",
      of.idempotentHits,
    ),
    labelled("holdfast_refusals_total", "Requests refused", "type", of.refusals),
    counter(
      "holdfast_oversized_events_total",
      "Messages of MCP servers that were too large to be passed on",
      () => of.oversizedEvents,
    ),
    counter("holdfast_adoptions_total", "Sessions taken over from other nodes", () => of.adoptions),
  ];
}

function logRows(of: Telemetry, windowMs: number): readonly Row[] {
  return [
    gauge("holdfast_retention_window_seconds", "The retention window", () => [[windowMs / 1000]]),
    gauge("holdfast_retention_horizon_seconds", "How far back cursors are honoured", () => [
      [of.horizon.ms / 1000],
    ]),
    gauge(
      "holdfast_retention_headroom_seconds",
      "How far back cursors are honoured, less the p99.9 of the reconnect latency",
      () => [[of.headroomMs / 1000]],
    ),
    counter(
      "holdfast_retention_breaches_total",
      "Events that a cap evicted inside the window",
      () => of.breaches,
    ),
    counter("holdfast_events_appended_total", "Events appended", () => of.eventsAppended),
    counter("holdfast_bytes_appended_total", "Bytes appended", () => of.bytesAppended),
    labelled("holdfast_events_evicted_total", "Events evicted", "cause", of.eventsEvicted),
    counter("holdfast_bytes_evicted_total", "Bytes evicted", () => of.bytesEvicted),
    counter("holdfast_fenced_appends_total", "Appends of former owners", () => of.fencedAppends),
    counter("holdfast_log_errors_total", "Failures of the event log", () => of.logErrors),
  ];
}

function gauge(name: string, description: string, read: Row["read"]): Row {
  return { name, kind: "gauge", description, read };
}

function counter(name: string, description: string, read: () => number): Row {
  return { name, kind: "counter", description, read: () => [[read()]] };
}

function labelled<Label extends string>(
  name: string,
  description: string,
  key: string,
  tally: Tally<Label>,
): Row {
  const read = () =>
    [...tally.entries()].map(([label, value]) => [value, { [key]: label }] as const);
  return { name, kind: "counter", description, read };
}
