/**
 * A process that pays for one order and then ends: `agent.ts URL STATE JOURNAL ORDER`. It can be
 * killed at any moment and started again. What it has learnt stands in its journal, a line each.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { fileState, ResumableClientTransport } from "@holdfast/client";

const [, , url = "", state = "", journal = "", order = ""] = process.argv;

function learn(what: object): void {
  appendFileSync(journal, `${JSON.stringify(what)}\n`);
}

function isDone(): boolean {
  return existsSync(journal) && readFileSync(journal, "utf8").includes('"outcome"');
}

async function main(): Promise<void> {
  if (isDone()) return;
  const reconnect = { initialDelayMs: 5, maxDelayMs: 50, maxAttempts: 50 };
  const transport = new ResumableClientTransport(url, { state: fileState(state), reconnect });
  const done = Promise.withResolvers<void>();
  transport.onmessage = (raw) => {
    const message = raw as { id?: number; params?: { data?: number }; result?: unknown };
    if (message.params?.data !== undefined) learn({ event: message.params.data });
    if (message.id !== 1) return;
    learn({ outcome: message });
    done.resolve();
  };
  await transport.start();
  const params = {
    ...{ protocolVersion: "2025-11-25", capabilities: {} },
    clientInfo: { name: "agent", version: "1" },
  };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const call = { name: "charge", arguments: { order } };
  // What it does not know, it asks for again: the transport knows better.
  await transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
  await done.promise;
  await transport.close();
}

process.stdout.write("begun\n");
await main();
