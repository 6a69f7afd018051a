/**
 * A process of its own for slow-readers.test.ts: the runtime with the SQLite log, and a tool that
 * answers with large results. A line `NAME BOUND` on stdin asks for its memory at rest; the answer is
 * `NAME BYTES`, once that is below the bound or will not come down.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime, type UpstreamFactory } from "@holdfast/server";

const directory = mkdtempSync(join(tmpdir(), "holdfast-slow-readers-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));

/** Answers each call with as many letters as its `arguments.chars` says. */
const upstream: UpstreamFactory = {
  start: async (_session, events) => ({
    send: async (text) => {
      const { id, method, params } = JSON.parse(text);
      if (id === undefined) return;
      const hello = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
      const result =
        method === "initialize"
          ? hello
          : { content: [{ type: "text", text: "x".repeat(params.arguments.chars) }] };
      events.onMessage(JSON.stringify({ jsonrpc: "2.0", id, result }));
    },
    close: async () => {},
  }),
};

const runtime = createSessionRuntime({ log: sqliteLog(join(directory, "sessions.db")), upstream });
const server = createServer(runtime.node);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`);
});

/** Readings of a bound that is not met, 50 ms apart, before the answer is what it is. */
const readingsMax = 100;

function usedBytes(): number {
  global.gc?.();
  global.gc?.();
  return process.memoryUsage().rss;
}

async function atRest(bytesMax: number): Promise<number> {
  let used = usedBytes();
  for (let i = 0; i < readingsMax && used > bytesMax; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    used = usedBytes();
  }
  return used;
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [name, bound] = line.split(" ");
    void atRest(Number(bound)).then((used) => process.stdout.write(`${name} ${used}\n`));
  })
  .on("close", () => process.exit(0));
