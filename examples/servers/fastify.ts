/** The same in Fastify 5. The hook comes before any parser: the runtime reads the body itself. */
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import fastify from "fastify";
import { buildMcpServer } from "./build-server.ts";
import { dbFile, port, ready } from "./settings.ts";

const sessions = createSessionHandler({
  log: sqliteLog(dbFile),
  createServer: () => buildMcpServer(),
});
const app = fastify();
app.register(async (mcp) => {
  mcp.addHook("onRequest", async (request, reply) => {
    reply.hijack();
    sessions.node(request.raw, reply.raw);
  });
  mcp.all("/mcp", () => undefined);
});
await app.listen({ port, host: "127.0.0.1" });
ready(app.server.address());
