/**
 * A process of its own for closing.test.ts: on the line `close` it closes the runtime and its
 * server, on `cut` the connections that are left; nothing else ends the process.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { memoryLog } from "@holdfast/log";
import { createSessionRuntime, type UpstreamFactory } from "@holdfast/server";

const hour = 3_600_000;

/** Answers `initialize`; of a call it says as much as `arguments.chars`, and never answers. */
const upstream: UpstreamFactory = {
  start: async (_session, events) => ({
    send: async (text) => {
      const { id, method, params } = JSON.parse(text);
      const data = "x".repeat(params?.arguments?.chars ?? 0);
      const message =
        method === "initialize"
          ? { id, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} } }
          : { method: "notifications/message", params: { level: "info", data } };
      if (id !== undefined) events.onMessage(JSON.stringify({ jsonrpc: "2.0", ...message }));
    },
    close: async () => {},
  }),
};

// Timers that nobody clears would hold the process for hours.
const options = { heartbeatMs: hour, viewportMaxMs: hour };
const runtime = createSessionRuntime({ log: memoryLog(), upstream, options });
const server = createServer({ keepAliveTimeout: hour }, runtime.node);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`);
});

const commands: Readonly<Record<string, () => void>> = {
  close: () => {
    void runtime.close();
    server.close();
  },
  cut: () => {
    process.stdin.destroy();
    server.closeAllConnections();
  },
};
createInterface({ input: process.stdin }).on("line", (line) => commands[line]?.());
