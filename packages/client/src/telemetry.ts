/**
 * What the transport tells of itself, by the API of OpenTelemetry: nothing where no SDK is
 * registered. A span goes with each call, across every reconnect and every session, to its outcome;
 * its name travels in the `_meta` of the request [C E-12], where a server of the contract goes on.
 *
 * Labels are closed unions; no id, address or body is in any of it.
 */
import {
  type JsonObject,
  type OutcomeUnknownReason,
  readTraceparent,
  withTraceparent,
  writeTraceparent,
} from "@holdfast/contract";
import {
  type Context,
  type Counter,
  context,
  type Histogram,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { CallEnd } from "./calls/outcomes.ts";

/** By default the global ones of `@opentelemetry/api`, as they are when the transport is made. */
export interface TelemetryProviders {
  readonly meterProvider?: MeterProvider | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
}

const scope = "@holdfast/client";
/** Upper bounds of the buckets, seconds. */
const reconnectBounds = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1800, 3600];

export class ClientTelemetry {
  readonly #tracer: Tracer;
  readonly #cuts: Counter;
  readonly #gaps: Counter;
  readonly #unknown: Counter;
  readonly #parked: Counter;
  readonly #ended: Counter;
  readonly #reconnect: Histogram;

  constructor({ meterProvider = metrics, tracerProvider = trace }: TelemetryProviders) {
    this.#tracer = tracerProvider.getTracer(scope);
    const meter = meterProvider.getMeter(scope);
    const counter = (name: string, description: string) =>
      meter.createCounter(`holdfast_client_${name}_total`, { description });
    this.#cuts = counter("cuts", "Streams that were cut before they were over");
    this.#gaps = counter("gaps", "Times that events were lost to this client");
    this.#unknown = counter("unknown_outcomes", "Calls that ended, and nobody knows how");
    this.#parked = counter("parked", "Times that the attempts to come back were used up");
    this.#ended = counter("sessions_ended", "Sessions that the server ended, or did not know");
    this.#reconnect = meter.createHistogram("holdfast_client_reconnect_latency_seconds", {
      description: "From the cut of a stream until it is open again",
      advice: { explicitBucketBoundaries: reconnectBounds },
    });
  }

  /** @param by - what closed the stream */
  cut(by: string): void {
    this.#cuts.add(1, { by });
  }

  reconnected(ms: number): void {
    this.#reconnect.record(ms / 1_000);
  }

  gap(): void {
    this.#gaps.add(1);
  }

  unknownOutcome(reason: OutcomeUnknownReason): void {
    this.#unknown.add(1, { reason });
  }

  parked(): void {
    this.#parked.add(1);
  }

  sessionEnded(): void {
    this.#ended.add(1);
  }

  /** @returns undefined when nobody records it */
  beginCall(message: JsonObject, name: string | undefined): CallTrace | undefined {
    const method = String(message.method);
    const span = this.#tracer.startSpan(
      name === undefined ? method : `${method} ${name}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          "mcp.method.name": method,
          ...(name === undefined ? {} : { "holdfast.call.name": name }),
        },
      },
      continued(context.active(), metaOf(message).traceparent),
    );
    return span.isRecording() ? new CallTrace(span) : undefined;
  }
}

export class CallTrace {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** The request as a part of this span. */
  outbound(message: JsonObject): JsonObject {
    const params = Object(message.params) as JsonObject;
    const traceparent = writeTraceparent(this.#span.spanContext());
    return { ...message, params: { ...params, _meta: { ...metaOf(message), traceparent } } };
  }

  /** The same in a text, every other character kept [C E-12]. */
  outboundText(text: string, message: JsonObject): string {
    return withTraceparent(text, metaOf(message).traceparent, this.#span.spanContext());
  }

  cut(by: string): void {
    this.#span.addEvent("cut", { by });
  }

  resumed(afterMs: number): void {
    this.#span.addEvent("resume", { afterMs });
  }

  end(end: CallEnd): void {
    const outcome = end.kind === "unknown" ? end.reason : end.kind;
    this.#span.setAttribute("holdfast.outcome", outcome);
    if (end.kind === "unknown" || end.kind === "refused") {
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
    }
    this.#span.end();
  }
}

function continued(base: Context, traceparent: unknown): Context {
  const remote = readTraceparent(traceparent);
  return remote === undefined ? base : trace.setSpanContext(base, { ...remote, isRemote: true });
}

function metaOf(message: JsonObject): JsonObject {
  const params = Object(message.params) as JsonObject;
  return Object(params._meta) as JsonObject;
}
