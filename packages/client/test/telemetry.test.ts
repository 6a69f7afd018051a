/** What the transport tells of itself: one span for a call, whatever happens to its connections. */
import { verifies } from "@holdfast/testkit";
import { AggregationTemporality, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { openWorld, resultFor } from "./world.ts";

class ScrapedReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

function providers() {
  const reader = new ScrapedReader({
    aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE,
  });
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const samples = async () => {
    const { resourceMetrics } = await reader.collect();
    const points = resourceMetrics.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ value, attributes }) => [
          [descriptor.name, ...Object.values(attributes)].join(" "),
          typeof value === "number" ? value : value.count,
        ]),
      );
    return Object.fromEntries(points) as Readonly<Record<string, number>>;
  };
  return {
    options: {
      meterProvider: new MeterProvider({ readers: [reader] }),
      tracerProvider: new TracerProvider({ spanProcessors }),
    },
    samples,
    spans: () => exporter.getFinishedSpans(),
  };
}

test("a call that is cut has one span, whose name goes to the server with it", async () => {
  const { options, samples, spans } = providers();
  const world = await openWorld(options);
  await world.connect();
  const { sent } = world.call(7);
  const post = await world.next();
  const first = post.stream();
  first.write("id: s7.0\ndata: \n\n");
  await sent;
  first.reset();
  await world.time.pass(1_000);
  (await world.next()).stream().event(resultFor(post, { paid: 1 }), "s7.1");
  await world.time.pass(0);
  const span = spans().find(({ name }) => name === "tools/call charge");
  expect(span?.events.map(({ name }) => name)).toEqual(["cut", "resume"]);
  expect(span?.attributes["holdfast.outcome"]).toBe("result");
  const { traceId, spanId } = span?.spanContext() ?? {};
  const params = post.body.params as { readonly _meta: { readonly traceparent: string } };
  expect(params._meta.traceparent).toBe(`00-${traceId}-${spanId}-01`);
  expect(await samples()).toMatchObject({
    "holdfast_client_cuts_total reset": 1,
    holdfast_client_reconnect_latency_seconds: 1,
  });
});

test("a call that nobody knows the outcome of ends its span so, and is counted", async () => {
  const { options, samples, spans } = providers();
  const world = await openWorld(options);
  await world.connect();
  const { sent } = world.call(3);
  (await world.next()).die();
  await sent;
  const span = spans().find(({ name }) => name === "tools/call charge");
  expect(span?.status).toMatchObject({ message: "unreachable" });
  expect(await samples()).toMatchObject({
    "holdfast_client_unknown_outcomes_total unreachable": 1,
  });
});

test(`${verifies("E-12")}without a tracer nothing is written into a call`, async () => {
  const world = await openWorld();
  await world.connect();
  world.call(1);
  expect(JSON.stringify((await world.next()).body)).not.toContain("traceparent");
});
