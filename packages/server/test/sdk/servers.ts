/**
 * Servers of both SDKs whose one tool does what the test says, and the handler that serves them.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryLog } from "@holdfast/log";
import {
  type AuthInfo,
  createSessionHandler,
  type SdkServer,
  type ServedSession,
  type SessionHandlerParts,
} from "@holdfast/server";
import { onDispose } from "@holdfast/testkit";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SetLevelRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer as McpServerV2 } from "@modelcontextprotocol/server";

/** What a handler is given, alike for both SDKs. */
export interface Given {
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal;
  readonly authInfo: AuthInfo | undefined;
  /** A header of the request that brought the call. */
  header(name: string): string | undefined;
  readonly closeStream: (() => void) | undefined;
  readonly closeStandalone: (() => void) | undefined;
  /** Log a line that belongs to the call. */
  log(data: string): Promise<void>;
  /** Log a line that belongs to the session. */
  logUnrelated(data: string): Promise<void>;
  /** The server ends its own connection. */
  close(): Promise<void>;
}

export interface Told {
  /** The tool `work`. @returns its text */
  work(given: Given): Promise<unknown>;
  onLevel?(level: string): void;
  onClose?(): void;
}

export type BuildServer = (told: Told) => SdkServer;

export const builds: readonly (readonly [string, BuildServer])[] = [
  ["v1", buildV1],
  ["v2", buildV2],
];

const info = { name: "sdk-server", version: "1.0.0" };
const capabilities = { capabilities: { logging: {}, tools: {} } };
const line = (data: string) => ({ level: "info" as const, data });
const content = (text: unknown) => ({ content: [{ type: "text" as const, text: text as string }] });

function buildV1(told: Told): SdkServer {
  const server = new McpServerV1(info, capabilities);
  if (told.onClose !== undefined) server.server.onclose = told.onClose;
  if (told.onLevel !== undefined) {
    server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      told.onLevel?.(params.level);
      return {};
    });
  }
  server.registerTool("work", { description: "Works" }, async (extra) => {
    const headers = extra.requestInfo?.headers as Record<string, string> | undefined;
    return content(
      await told.work({
        sessionId: extra.sessionId,
        signal: extra.signal,
        authInfo: extra.authInfo as AuthInfo | undefined,
        header: (name) => headers?.[name],
        closeStream: extra.closeSSEStream,
        closeStandalone: extra.closeStandaloneSSEStream,
        log: (data) =>
          extra.sendNotification({ method: "notifications/message", params: line(data) }),
        logUnrelated: (data) => server.sendLoggingMessage(line(data)),
        close: () => server.close(),
      }),
    );
  });
  return server;
}

function buildV2(told: Told): SdkServer {
  const server = new McpServerV2(info, capabilities);
  if (told.onClose !== undefined) server.server.onclose = told.onClose;
  if (told.onLevel !== undefined) {
    server.server.setRequestHandler("logging/setLevel", ({ params }) => {
      told.onLevel?.(params.level);
      return {};
    });
  }
  server.registerTool("work", { description: "Works" }, async (ctx) =>
    content(
      await told.work({
        sessionId: ctx.sessionId,
        signal: ctx.mcpReq.signal,
        authInfo: ctx.http?.authInfo as AuthInfo | undefined,
        header: (name) => ctx.http?.req?.headers.get(name) ?? undefined,
        closeStream: ctx.http?.closeSSE,
        closeStandalone: ctx.http?.closeStandaloneSSE,
        log: (data) => ctx.mcpReq.notify({ method: "notifications/message", params: line(data) }),
        logUnrelated: (data) => server.sendLoggingMessage(line(data)),
        close: () => server.close(),
      }),
    ),
  );
  return server;
}

export interface Served {
  readonly url: string;
  readonly handler: ReturnType<typeof createSessionHandler>;
  /** What `createServer` was given, for each server. */
  readonly made: readonly ServedSession[];
}

export interface ServeSettings extends Partial<Omit<SessionHandlerParts, "createServer">> {
  /** Stands for a middleware. */
  readonly before?: (req: IncomingMessage) => Promise<void> | void;
}

/** Serve servers over `node:http`, until the test is over. */
export async function serve(
  build: BuildServer,
  told: Told,
  { before, ...parts }: ServeSettings = {},
): Promise<Served> {
  const made: ServedSession[] = [];
  const handler = createSessionHandler({
    log: memoryLog(),
    ...parts,
    createServer: (session) => {
      made.push(session);
      return build(told);
    },
  });
  const server = createServer(async (req, res) => {
    await before?.(req);
    handler.node(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, handler, made };
}

/** The text of a tool's result. */
export function textOf(message: { readonly result?: unknown }): string | undefined {
  const { content: parts } = (message.result ?? {}) as { content?: readonly { text: string }[] };
  return parts?.[0]?.text;
}
