/** The runtime behind `node:http` with the SDK of OpenTelemetry beside it, in this process. */
import type { Mark } from "@holdfast/server";
import { signal } from "@holdfast/testkit";
import type { FaceParts } from "@holdfast/testkit/face-acceptance";
import { type Bench, type BenchSettings, benches } from "@holdfast/testkit/face-acceptance";
import { AggregationTemporality, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { serveRuntime } from "./node-face.ts";

export interface Watched {
  readonly bench: Bench;
  readonly marks: readonly Mark[];
  /** The next mark of this kind that comes, or one that came already. */
  marked<Kind extends Mark["kind"]>(
    kind: Kind,
    matches?: (mark: Mark & { kind: Kind }) => boolean,
  ): Promise<Mark & { kind: Kind }>;
  /** Every sample, `name{label="value"}` to its number; a histogram gives its count. */
  scrape(): Promise<Readonly<Record<string, number>>>;
  /** Spans that have ended. */
  spans(): readonly ReadableSpan[];
}

/** @param isTraced - false: there is no tracer, as where no SDK is registered */
export async function openWatched(settings: BenchSettings = {}, isTraced = true): Promise<Watched> {
  const reader = new ScrapedReader({
    aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const marks: Mark[] = [];
  const nextMark = signal<Mark>("mark");
  const observe = (mark: Mark) => {
    marks.push(mark);
    nextMark.emit(mark);
  };
  const watching = {
    meterProvider,
    observe,
    ...(isTraced ? { tracerProvider: new TracerProvider({ spanProcessors }) } : {}),
  };
  const serve = (parts: FaceParts) =>
    serveRuntime({ ...parts, ...watching }, (runtime) => runtime.node);
  const bench = await benches({ name: "node", serve }, "memory")(settings);
  const scrape = async () => {
    const { resourceMetrics } = await reader.collect();
    const samples: Record<string, number> = {};
    for (const { descriptor, dataPoints } of resourceMetrics.scopeMetrics.flatMap(
      ({ metrics }) => metrics,
    )) {
      for (const { attributes, value } of dataPoints) {
        const labels = Object.entries(attributes).map(([key, label]) => `${key}="${label}"`);
        const name = labels.length === 0 ? descriptor.name : `${descriptor.name}{${labels}}`;
        samples[name] = typeof value === "number" ? value : value.count;
      }
    }
    return samples;
  };
  const marked: Watched["marked"] = async (kind, matches = () => true) => {
    type Wanted = Mark & { kind: typeof kind };
    const fits = (mark: Mark): mark is Wanted => mark.kind === kind && matches(mark as Wanted);
    return marks.find(fits) ?? ((await nextMark.next(fits)) as Wanted);
  };
  return { bench, marks, marked, scrape, spans: () => exporter.getFinishedSpans() };
}

class ScrapedReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}
