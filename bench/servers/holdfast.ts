/** Holdfast's session runtime with its SQLite log, as `holdfast serve` puts them together. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import { serveMeasured } from "../serve-measured.ts";
import { trivialUpstream } from "./trivial-upstream.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const log = sqliteLog(join(directory, "sessions.db"));
const runtime = createSessionRuntime({ log, upstream: trivialUpstream, options: { path: "/mcp" } });
await runtime.ready();

serveMeasured(runtime.node, {
  close: async () => {
    await runtime.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
