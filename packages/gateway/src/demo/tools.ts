/**
 * The two tools of the demo, on the stock SDK: a charge whose receipt takes a while, and a report of
 * many entries. The same server stands behind the SDK's own HTTP face and behind `holdfast serve`.
 */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { enterDeed } from "./ledger.ts";

export type ToolName = "charge" | "report";

export interface ToolSettings {
  /** File that deeds are entered in. */
  readonly ledger: string;
  /** How long the receipt of a charge takes, milliseconds. */
  readonly chargeMs: number;
  /** Entries that a report sends before it waits for `goFile`, and those that it sends then. */
  readonly entriesBefore: number;
  readonly entriesAfter: number;
  readonly goFile: string;
  /** How long a report takes to its result after its last entry, milliseconds. */
  readonly closingMs: number;
}

const pollMs = 10;

export function buildToolServer(settings: ToolSettings): McpServer {
  const { ledger } = settings;
  const server = new McpServer(
    { name: "holdfast-demo-tools", version: "1.0.0" },
    { capabilities: { logging: {} } },
  );
  server.registerTool(
    "charge",
    { description: "Charge a card at once; the receipt takes a while." },
    async () => {
      const mark = enterDeed(ledger, "charge");
      await delay(settings.chargeMs);
      return textResult(mark);
    },
  );
  server.registerTool(
    "report",
    { description: "Send entries, wait to be told, and send many more." },
    async (extra) => {
      const send = async (count: number) => {
        for (let sent = 0; sent < count; sent += 1) {
          const data = enterDeed(ledger, "entry");
          const params = { level: "info" as const, logger: "report", data };
          await extra.sendNotification({ method: "notifications/message", params });
        }
      };
      await send(settings.entriesBefore);
      while (!existsSync(settings.goFile)) await delay(pollMs, undefined, { signal: extra.signal });
      await send(settings.entriesAfter);
      await delay(settings.closingMs);
      return textResult("the report is complete");
    },
  );
  return server;
}

function textResult(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
