/** An MCP server in this process that answers at once: what remains is the cost of the runtime. */
import type { UpstreamFactory } from "@holdfast/server";
import { resultOf } from "./tool.ts";

interface Message {
  readonly id?: number;
  readonly method: string;
}

export const trivialUpstream: UpstreamFactory = {
  start: async (_session, events) => ({
    send: async (text) => {
      const { id, method } = JSON.parse(text) as Message;
      if (id === undefined) return;
      await events.onMessage(JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method) }));
    },
    close: async () => {},
  }),
};
