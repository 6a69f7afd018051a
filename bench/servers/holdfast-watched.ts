/** As holdfast-metered.ts, with the history of the admin port beside it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createMetrics, History } from "@holdfast/gateway/admin";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import { serveMeasured } from "../serve-measured.ts";
import { trivialUpstream } from "./trivial-upstream.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const silent = () => undefined;
const metrics = createMetrics();
const history = await History.open({
  log: sqliteLog(join(directory, "history.db")),
  windowMs: 30 * 60_000,
  clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
  logger: { debug: silent, info: silent, warn: silent, error: silent },
});
const runtime = createSessionRuntime({
  log: sqliteLog(join(directory, "sessions.db")),
  upstream: trivialUpstream,
  options: { path: "/mcp" },
  meterProvider: metrics.meterProvider,
  observe: history.observe,
});
await runtime.ready();

serveMeasured(runtime.node, {
  close: async () => {
    await runtime.close();
    await history.close();
    await metrics.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
