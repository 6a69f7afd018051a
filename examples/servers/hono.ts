/** The same in Hono, on Node. In a host of the fetch style, `export default app`. */

import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { buildMcpServer } from "./build-server.ts";
import { dbFile, port, ready } from "./settings.ts";

const sessions = createSessionHandler({
  log: sqliteLog(dbFile),
  createServer: () => buildMcpServer(),
});
const app = new Hono();
app.all("/mcp", (context) => sessions.fetch(context.req.raw));
serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, ready);
