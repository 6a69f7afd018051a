/** As holdfast.ts, with the metrics of the gateway behind it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMetrics } from "@holdfast/gateway/admin";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import { serveMeasured } from "../serve-measured.ts";
import { trivialUpstream } from "./trivial-upstream.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const metrics = createMetrics();
const runtime = createSessionRuntime({
  log: sqliteLog(join(directory, "sessions.db")),
  upstream: trivialUpstream,
  options: { path: "/mcp" },
  meterProvider: metrics.meterProvider,
});
await runtime.ready();

serveMeasured(runtime.node, {
  close: async () => {
    await runtime.close();
    await metrics.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
