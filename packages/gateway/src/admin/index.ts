/** For measurements: what `holdfast serve` puts beside the session runtime. */
export { History, type HistorySettings } from "./history.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
