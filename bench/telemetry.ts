/**
 * What it costs a call that it is told of: the session runtime with nobody listening, with metrics by
 * the SDK of OpenTelemetry behind it, and with the admin port's history of everything beside that.
 */
import { type CallOptions, inFlight, measureCpu } from "./call.ts";
import type { Report } from "./report.ts";

const contestants = [
  { name: "holdfast", title: "nobody listens" },
  { name: "holdfast-metered", title: "metrics by the SDK" },
  { name: "holdfast-watched", title: "metrics, and the history of the admin port" },
] as const;

export async function measureTelemetry(options: CallOptions): Promise<Report> {
  const names = contestants.map(({ name }) => name);
  const samples = await measureCpu(names, inFlight, options);
  return {
    title: "telemetry: server processor time for one tools/call",
    note:
      `${inFlight} calls in flight in as many sessions; medians of ${options.rounds} alternating ` +
      `rounds of ${options.calls} calls in each of ${options.processes ?? 1} processes. No tracer is registered in any.`,
    columns: ["server", "µs", "÷ nobody listens"],
    rows: contestants.map(({ name, title }) => [
      title,
      samples.median(name).toFixed(1),
      samples.ratio(name, "holdfast").toFixed(3),
    ]),
    bounds: [
      {
        name: "metrics ÷ nobody listens",
        value: samples.ratio("holdfast-metered", "holdfast"),
        max: 1.03,
      },
    ],
  };
}
