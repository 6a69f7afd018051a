/**
 * Unmodified SDK clients, v1 and v2, under one face: what they call, what they are told and asked,
 * and which HTTP requests they make. The rules of reconnecting are theirs.
 */
import { onDispose, type Signal, signal } from "@holdfast/testkit";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** An HTTP request of the client that was answered. */
export interface SeenRequest {
  readonly method: string;
  readonly lastEventId: string | undefined;
  readonly status: number;
}

export interface LogMessage {
  readonly level: string;
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/** A type, not an interface: the SDK asks for an index signature. */
export type Elicited = {
  readonly action: "accept";
  readonly content: Record<string, string>;
};

export interface SdkOptions {
  /** The user: asked by elicitation. Default: answers "blue" at once. `null`: cannot be asked. */
  readonly user?: (() => Promise<Elicited>) | null;
  /** Told of each log message at once, in order with progress. */
  readonly onLog?: (message: LogMessage) => void;
  /** Let v2 negotiate: the 2026-07-28 revision first. */
  readonly isAutomatic?: boolean;
}

export interface CallOptions {
  readonly onprogress?: (progress: { progress: number }) => void;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

export interface SdkClient {
  readonly client: ClientV1 | ClientV2;
  sessionId(): string;
  /** Log messages, and numbers of updated resources, as they came. */
  readonly logged: LogMessage[];
  readonly updated: string[];
  readonly onLogged: Signal<LogMessage>;
  readonly onUpdated: Signal<string>;
  readonly requests: SeenRequest[];
  readonly onRequest: Signal<SeenRequest>;
  /** @returns the text of the result */
  call(name: string, args: object, options?: CallOptions): Promise<string>;
}

const info = { name: "sdk-client", version: "1.0.0" };
const capabilitiesWith = (user: SdkOptions["user"]) => ({
  ...{ sampling: {}, roots: {} },
  ...(user !== null && { elicitation: {} }),
});
const blue: Elicited = { action: "accept", content: { colour: "blue" } };
const green = {
  model: "m",
  role: "assistant" as const,
  content: { type: "text" as const, text: "green" },
};
const roots = { roots: [{ uri: "file:///work", name: "work" }] };

/** The clients by name, for `test.each`. */
export const sdkClients = [
  ["v1", connectV1],
  ["v2", connectV2],
] as const;

/** A call of the worker's `work`. */
export interface SdkWork {
  /** Of the progress events so far. */
  readonly steps: number[];
  readonly result: Promise<string>;
}

/** Start `work`; it runs once this resolves. */
export async function startWork(
  client: SdkClient,
  name: string,
  options: CallOptions = {},
): Promise<SdkWork> {
  const steps: number[] = [];
  const begun = Promise.withResolvers<void>();
  const onprogress = ({ progress }: { progress: number }) => {
    steps.push(progress);
    begun.resolve();
  };
  const result = client.call("work", { name }, { ...options, onprogress });
  await Promise.race([begun.promise, result]);
  return { steps, result };
}

export async function connectV1(
  url: string,
  { user = async () => blue, onLog = () => {} }: SdkOptions = {},
): Promise<SdkClient> {
  const client = new ClientV1(info, { capabilities: capabilitiesWith(user) });
  const seen = watcher();
  if (user !== null) client.setRequestHandler(ElicitRequestSchema, user);
  client.setRequestHandler(CreateMessageRequestSchema, () => green);
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    seen.logged.push(params);
    onLog(params);
    seen.onLogged.emit(params);
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    seen.updated.push(params.uri);
    seen.onUpdated.emit(params.uri);
  });
  const transport = new TransportV1(new URL(url), { fetch: seen.fetch });
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<ClientV1["connect"]>[0]);
  onDispose(() => client.close());
  const call = async (name: string, args: object, options?: CallOptions) =>
    textOf(await client.callTool({ name, arguments: { ...args } }, undefined, options));
  return { ...seen, client, call, sessionId: () => transport.sessionId ?? "" };
}

export async function connectV2(url: string, options: SdkOptions = {}): Promise<SdkClient> {
  const { user = async () => blue, onLog = () => {}, isAutomatic = false } = options;
  const client = new ClientV2(info, {
    capabilities: capabilitiesWith(user),
    versionNegotiation: { mode: isAutomatic ? "auto" : "legacy" },
  });
  const seen = watcher();
  if (user !== null) client.setRequestHandler("elicitation/create", user);
  client.setRequestHandler("sampling/createMessage", () => green);
  client.setRequestHandler("roots/list", () => roots);
  client.setNotificationHandler("notifications/message", ({ params }) => {
    seen.logged.push(params);
    onLog(params);
    seen.onLogged.emit(params);
  });
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    seen.updated.push(params.uri);
    seen.onUpdated.emit(params.uri);
  });
  const transport = new TransportV2(new URL(url), { fetch: seen.fetch });
  await client.connect(transport);
  onDispose(() => client.close());
  const call = async (name: string, args: object, callOptions?: CallOptions) =>
    textOf(await client.callTool({ name, arguments: { ...args } }, callOptions));
  return { ...seen, client, call, sessionId: () => transport.sessionId ?? "" };
}

function watcher() {
  const requests: SeenRequest[] = [];
  const onRequest = signal<SeenRequest>("request");
  return {
    ...{ requests, onRequest },
    logged: [] as LogMessage[],
    updated: [] as string[],
    onLogged: signal<LogMessage>("log message"),
    onUpdated: signal<string>("resource update"),
    fetch: async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const response = await fetch(url, init);
      const lastEventId = new Headers(init?.headers).get("last-event-id") ?? undefined;
      const request = { method: init?.method ?? "GET", lastEventId, status: response.status };
      requests.push(request);
      onRequest.emit(request);
      return response;
    },
  };
}

function textOf(result: object): string {
  const blocks = "content" in result && Array.isArray(result.content) ? result.content : [];
  const text: unknown = blocks[0]?.text;
  if (typeof text !== "string") throw new Error(`no text: ${JSON.stringify(result)}`);
  return text;
}
