/** `/metrics`: the instruments of the runtime, by the exporter of OpenTelemetry for Prometheus. */
import type { MeterProvider as Meters } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";

export interface Metrics {
  readonly meterProvider: Meters;
  /** Everything, in the text format of Prometheus. */
  scrape(): Promise<string>;
  close(): Promise<void>;
}

/** How long the instruments may take to be read, milliseconds. */
const timeoutMillis = 5_000;

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  // The exporter's own server has no checks of Host and Origin: ours serves.
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const [isStamped, isTargetLeftOut, isScopeLeftOut] = [false, true, true];
  const serializer = new PrometheusSerializer(
    "",
    isStamped,
    undefined,
    isTargetLeftOut,
    isScopeLeftOut,
  );
  return {
    meterProvider,
    scrape: async () => {
      const { resourceMetrics } = await exporter.collect({ timeoutMillis });
      return serializer.serialize(resourceMetrics);
    },
    close: () => meterProvider.shutdown(),
  };
}
