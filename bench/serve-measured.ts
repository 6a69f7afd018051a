/**
 * The inside of a measured process: it listens, and answers questions about itself. Nothing here
 * stands between the server and its load.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export type Question = { readonly kind: "usage" | "memory" | "stop" | "forget" };

export type Answer =
  | { readonly kind: "listening"; readonly port: number; readonly facts: unknown }
  | { readonly kind: "usage"; readonly cpuUs: number }
  | { readonly kind: "forgotten"; readonly left: unknown }
  | { readonly kind: "memory"; readonly heapBytes: number; readonly rssBytes: number };

export interface Measured {
  readonly facts?: unknown;
  /** Let the time pass after which nothing may be left. @returns what is, for the report */
  forget?(): Promise<unknown>;
  /** Called when the server is to stop. */
  close?(): Promise<void>;
}

/** Serve `/mcp` on a free port of 127.0.0.1 until the other side has had enough. */
export function serveMeasured(listener: RequestListener, measured: Measured = {}): void {
  const server = createServer(listener);
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    tell({ kind: "listening", port, facts: measured.facts });
  });
  process.on("message", ({ kind }: Question) => {
    if (kind === "usage") {
      const { user, system } = process.cpuUsage();
      tell({ kind, cpuUs: user + system });
    } else if (kind === "memory") {
      globalThis.gc?.();
      const { heapUsed, external, rss } = process.memoryUsage();
      tell({ kind, heapBytes: heapUsed + external, rssBytes: rss });
    } else if (kind === "forget") {
      void measured.forget?.().then((left) => tell({ kind: "forgotten", left }));
    } else {
      server.closeAllConnections();
      server.close();
      void Promise.resolve(measured.close?.()).finally(() => process.disconnect());
    }
  });
}

function tell(answer: Answer): void {
  process.send?.(answer);
}
