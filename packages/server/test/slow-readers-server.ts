/**
 * A process of its own for slow-readers.test.ts: the runtime with the SQLite log, and an upstream
 * that says much. A line `NAME BOUND` on stdin asks for its memory at rest; the answer is
 * `NAME BYTES`, once that is below the bound or will not come down.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime, type UpstreamEvents, type UpstreamFactory } from "@holdfast/server";

const directory = mkdtempSync(join(tmpdir(), "holdfast-slow-readers-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));

/**
 * `large` is answered with `arguments.chars` letters; `flood` with a word, after `arguments.events`
 * notifications of 2 KiB on the standalone stream.
 */
const upstream: UpstreamFactory = {
  start: async (_session, events) => ({
    send: async (text) => {
      const { id, method, params } = JSON.parse(text);
      if (id === undefined) return;
      const answer = (result: object) =>
        void events.onMessage(JSON.stringify({ jsonrpc: "2.0", id, result }));
      if (method === "initialize") {
        answer({ protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} });
      } else if (params.name === "flood") {
        void flood(events, params.arguments.events).then(() => answer({ content: [] }));
      } else {
        answer({ content: [{ type: "text", text: "x".repeat(params.arguments.chars) }] });
      }
    },
    close: async () => {},
  }),
};

async function flood(events: UpstreamEvents, count: number): Promise<void> {
  const padding = "x".repeat(2 * 1024);
  for (let number = 1; number <= count; number += 1) {
    const params = { uri: `test:${number}`, padding };
    const method = "notifications/resources/updated";
    await events.onMessage(JSON.stringify({ jsonrpc: "2.0", method, params }));
    // As a pipe delivers: so many at a time.
    if (number % 32 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

const runtime = createSessionRuntime({ log: sqliteLog(join(directory, "sessions.db")), upstream });
const server = createServer(runtime.node);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`);
});

/** Readings of a bound that is not met, 50 ms apart, before the answer is what it is. */
const readingsMax = 100;

/** What is resident, but for what the engine keeps of its heap without using it. */
function usedBytes(): number {
  global.gc?.();
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return rss - (heapTotal - heapUsed);
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
