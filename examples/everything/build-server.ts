/**
 * An MCP server with everything that the official conformance suite asks a server for. It knows
 * nothing of transports: `server.ts` serves it over HTTP, `stdio.ts` over stdio.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { binaryResource, staticResource, watchedResource } from "./fixtures.ts";
import { prompts } from "./prompts.ts";
import { tools } from "./tools.ts";

export function buildEverythingServer(): Server {
  const capabilities = {
    tools: {},
    prompts: {},
    resources: { subscribe: true },
    logging: {},
    completions: {},
  };
  const server = new Server({ name: "everything", version: "1.0.0" }, { capabilities });
  serveTools(server);
  servePrompts(server);
  serveResources(server);
  return server;
}

function serveTools(server: Server): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools].map(([name, { description, inputSchema }]) => ({
      ...{ name, description, inputSchema },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = tools.get(params.name);
    if (tool === undefined) throw notFound(`There is no tool ${params.name}.`);
    return tool.call(params.arguments ?? {}, extra);
  });
}

function servePrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [...prompts].map(([name, prompt]) => ({
      ...{ name, description: prompt.description, arguments: prompt.arguments },
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = prompts.get(params.name);
    if (prompt === undefined) throw notFound(`There is no prompt ${params.name}.`);
    return { messages: prompt.messages(params.arguments ?? {}) };
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
    const values = ["paris", "park", "party"].filter((value) =>
      value.startsWith(params.argument.value),
    );
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

const template = "test://template/{id}/data";

function serveResources(server: Server): void {
  const kept = [staticResource, binaryResource, watchedResource];
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: kept.map(({ uri, mimeType }) => ({ uri, mimeType, name: uri })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: template, name: "template", mimeType: "application/json" }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = kept.find((resource) => resource.uri === uri) ?? fromTemplate(uri);
    if (found === undefined) throw notFound(`There is no resource ${uri}.`);
    return { contents: [found] };
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
}

function fromTemplate(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  return { uri, mimeType: "application/json", text: JSON.stringify({ id, data: `Data of ${id}` }) };
}

function notFound(message: string): McpError {
  return new McpError(ErrorCode.InvalidParams, message);
}
