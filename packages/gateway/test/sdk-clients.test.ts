/** Unmodified SDK clients, old and new, on the demo server behind the gateway. */

import { disposeAll, onDispose, signal, verifies, within } from "@holdfast/testkit";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, test } from "vitest";
import { startGateway } from "./gateway-process.ts";

afterEach(disposeAll);

const info = { name: "sdk-client", version: "1.0.0" };
const elicited = { action: "accept" as const, content: { answer: "blue" } };
const sampled = {
  model: "m",
  role: "assistant" as const,
  content: { type: "text" as const, text: "green" },
};

interface Connected {
  readonly client: ClientV1 | ClientV2;
  /** Log messages, as they come. */
  readonly logged: unknown[];
  call(name: string, args: object, options?: CallOptions): Promise<unknown>;
}

interface CallOptions {
  readonly onprogress?: (progress: { progress: number }) => void;
  readonly signal?: AbortSignal;
}

type Asks = "elicitation" | "sampling";

async function connectV1(url: string, asks: Asks): Promise<Connected> {
  const client = new ClientV1(info, { capabilities: { [asks]: {} } });
  if (asks === "elicitation") client.setRequestHandler(ElicitRequestSchema, () => elicited);
  else client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  const logged: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    logged.push(params.data);
  });
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(new TransportV1(new URL(url)) as Parameters<ClientV1["connect"]>[0]);
  onDispose(() => client.close());
  const call = (name: string, args: object, options?: CallOptions) =>
    client.callTool({ name, arguments: { ...args } }, undefined, options);
  return { client, logged, call };
}

async function connectV2(url: string, asks: Asks): Promise<Connected> {
  const client = new ClientV2(info, { capabilities: { [asks]: {} } });
  if (asks === "elicitation") client.setRequestHandler("elicitation/create", () => elicited);
  else client.setRequestHandler("sampling/createMessage", () => sampled);
  const logged: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => {
    logged.push(params.data);
  });
  await client.connect(new TransportV2(new URL(url)));
  onDispose(() => client.close());
  const call = (name: string, args: object, options?: CallOptions) =>
    client.callTool({ name, arguments: { ...args } }, options);
  return { client, logged, call };
}

const text = (line: string) => expect.objectContaining({ content: [{ type: "text", text: line }] });

test.each([
  ["v1", connectV1],
  ["v2", connectV2],
])(
  `${verifies("E-01", "X-01", "X-06")}SDK %s: tools, progress, log, resources, questions, cancelling`,
  async (_sdk, connect) => {
    const gateway = await startGateway(["demo", "serve", "--log", "memory:"]);
    const { client, logged, call } = await connect(gateway.url, "elicitation");
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(["charge", "charges", "chatty", "echo", "ask"]);

    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    const charged = await call("charge", { amount: 5, seconds: 2 }, { onprogress });
    expect(charged).toEqual(text("charge #1: 5 was charged"));
    expect(steps).toEqual([1, 2]);

    await client.setLoggingLevel("info");
    await call("chatty", { count: 3 });
    expect(logged).toEqual(["message 1 of 3", "message 2 of 3", "message 3 of 3"]);
    await client.setLoggingLevel("error");
    await call("chatty", { count: 3 });
    expect(logged).toHaveLength(3);

    const { contents } = await client.readResource({ uri: "demo://charges" });
    expect(contents[0]).toMatchObject({ text: '[{"number":1,"amount":5}]' });
    expect(await call("ask", { question: "colour?" })).toEqual(text("the user answered: blue"));
    const other = await connect(gateway.url, "sampling");
    expect(await other.call("ask", { question: "?" })).toEqual(text("the model answered: green"));

    const begun = signal<void>("progress");
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => begun.emit() };
    const first = begun.next();
    const cancelled = call("charge", { amount: 1, seconds: 600 }, options).catch(() => "cancelled");
    // A step every second: the call runs.
    await first;
    abort.abort();
    expect(await within(cancelled, "the cancelled call")).toBe("cancelled");
    expect(await call("echo", { text: "still here" })).toEqual(text("still here"));
  },
);
