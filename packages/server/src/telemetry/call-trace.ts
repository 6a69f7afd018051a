/**
 * The span of one call: from its arrival to its outcome, across every disconnect in between.
 *
 * Without a tracer it costs one look and holds nothing.
 */
import { readTraceparent, withTraceparent } from "@holdfast/contract";
import {
  type Context,
  context,
  createTraceState,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { metaOf } from "../incoming.ts";
import type { CallOutcome } from "./marks.ts";

/** What a span is made of. */
export interface TracedCall {
  readonly method: string;
  readonly name?: string | undefined;
  readonly params: Readonly<Record<string, unknown>> | undefined;
}

export class CallTrace {
  readonly #span: Span;

  private constructor(span: Span) {
    this.#span = span;
  }

  /** @returns undefined when nobody records it: then the message goes on as it came */
  static begin(tracer: Tracer, call: TracedCall, tag: string): CallTrace | undefined {
    const parent = continued(context.active(), call.params);
    const span = tracer.startSpan(nameOf(call), optionsOf(call, tag), parent);
    return span.isRecording() ? new CallTrace(span) : undefined;
  }

  /** [C S-07] A call whose process is gone: its own span went with that process. */
  static adopted(
    tracer: Tracer,
    call: Omit<TracedCall, "params"> & { readonly startedAtMs: number },
    tag: string,
    outcome: CallOutcome,
  ): void {
    const span = tracer.startSpan(nameOf(call), {
      ...optionsOf(call, tag),
      startTime: call.startedAtMs,
    });
    span.addEvent("adoption");
    new CallTrace(span).end(outcome);
  }

  /** The request as the upstream gets it: a part of this span. */
  outbound(text: string, params: TracedCall["params"]): string {
    return withTraceparent(text, metaOf(params)?.["traceparent"], this.#span.spanContext());
  }

  /** A viewport that showed the call is gone, for this cause. */
  cut(cause: string): void {
    this.#span.addEvent("cut", { cause });
  }

  /** Another viewport shows it. @param after - the reader has everything up to here */
  resumed(after: number): void {
    this.#span.addEvent("resume", { after });
  }

  end(outcome: CallOutcome): void {
    this.#span.setAttribute("holdfast.outcome", outcome);
    if (outcome !== "answered" && outcome !== "cancelled") {
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: `outcome unknown: ${outcome}` });
    }
    this.#span.end();
  }
}

/** The context that continues the trace of the sender; `base` where it names none. */
function continued(base: Context, params: TracedCall["params"]): Context {
  const meta = metaOf(params);
  const remote = readTraceparent(meta?.["traceparent"]);
  if (remote === undefined) return base;
  const state = meta?.["tracestate"];
  const traceState = typeof state === "string" ? { traceState: createTraceState(state) } : {};
  return trace.setSpanContext(base, { ...remote, ...traceState, isRemote: true });
}

function nameOf({ method, name }: Omit<TracedCall, "params">): string {
  return name === undefined ? method : `${method} ${name}`;
}

function optionsOf({ method, name }: Omit<TracedCall, "params">, tag: string) {
  return {
    kind: SpanKind.SERVER,
    attributes: {
      "mcp.method.name": method,
      ...(name === undefined ? {} : { "holdfast.call.name": name }),
      // [C P-03] the tag tells nothing of the id
      "holdfast.session.tag": tag,
    },
  };
}
