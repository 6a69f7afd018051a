/** SDK clients of both versions on this transport, with servers of both SDKs as they are. */
import { type ResumableClientOptions, ResumableClientTransport } from "@holdfast/client";
import { disposeAll, faultProxy, onDispose, verifies, within } from "@holdfast/testkit";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, test } from "vitest";
import { quick } from "./host.ts";
import { type SdkServer, sdkServers, startSdkServer } from "./sdk-servers.ts";

afterEach(disposeAll);

const info = { name: "sdk-client", version: "1.0.0" };
const capabilities = { elicitation: {} };
const accepted = { action: "accept" as const, content: { colour: "blue" } };

interface SdkSide {
  readonly transport: ResumableClientTransport;
  readonly contracts: string[][];
  readonly unknown: unknown[];
  tools(): Promise<string[]>;
  call(name: string, onprogress?: () => void): Promise<string>;
}

type ConnectSdk = (url: string, options?: ResumableClientOptions) => Promise<SdkSide>;

function transportTo(url: string, options: ResumableClientOptions = {}) {
  const contracts: string[][] = [];
  const unknown: unknown[] = [];
  const transport = new ResumableClientTransport(url, {
    reconnect: quick,
    onContract: ({ shortfalls }) => void contracts.push(shortfalls.map(({ type }) => type)),
    onUnknownOutcome: (outcome) => void unknown.push(outcome),
    ...options,
  });
  return { transport, contracts, unknown };
}

const connectV1: ConnectSdk = async (url, options) => {
  const side = transportTo(url, options);
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(side.transport as Transport);
  onDispose(() => client.close());
  return {
    ...side,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, onprogress) => {
      const given = onprogress === undefined ? {} : { onprogress };
      return textOf(await client.callTool({ name, arguments: {} }, undefined, given));
    },
  };
};

const connectV2: ConnectSdk = async (url, options) => {
  const side = transportTo(url, options);
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode: "legacy" } });
  client.setRequestHandler("elicitation/create", async () => accepted);
  await client.connect(side.transport);
  onDispose(() => client.close());
  return {
    ...side,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, onprogress) => {
      const given = onprogress === undefined ? {} : { onprogress };
      return textOf(await client.callTool({ name, arguments: {} }, given));
    },
  };
};

function textOf(result: object): string {
  const blocks = "content" in result && Array.isArray(result.content) ? result.content : [];
  return String(blocks[0]?.text);
}

const pairs = (
  [
    ["v1", connectV1],
    ["v2", connectV2],
  ] as const
).flatMap(([client, connect]) =>
  sdkServers.map(([server, open]) => ({ client, server, connect, open })),
);

/** Begin `work`: it runs, and its first event has come. */
async function begin(side: SdkSide): Promise<{ readonly result: Promise<string> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const result = side.call("work", resolve);
  result.catch(() => {});
  await within(promise, "the first progress");
  return { result };
}

async function behindProxy(server: SdkServer) {
  return faultProxy({ target: { host: "127.0.0.1", port: server.port } });
}

describe.each(pairs)("SDK client $client, SDK server $server", ({ connect, open }) => {
  test(`${verifies("K-14", "X-06")}what MCP offers works`, async () => {
    const server = await startSdkServer(open, { keepsEvents: true });
    const side = await connect(server.url);
    expect(side.transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await side.tools()).toEqual(["work", "ask"]);
    expect(await side.call("ask")).toBe("accept");
    const { result } = await begin(side);
    server.letGo();
    expect(await result).toBe("worked 1");
    expect(side.contracts).toEqual([["no-resume-contract", "memory-state"]]);
  });

  test(`${verifies("K-01", "c001")}with events kept: a cut call arrives, and runs once`, async () => {
    const server = await startSdkServer(open, { keepsEvents: true });
    const proxy = await behindProxy(server);
    const side = await connect(proxy.url("/mcp"));
    const { result } = await begin(side);
    proxy.cutAll("rst");
    server.letGo();
    expect(await within(result, "the result")).toBe("worked 1");
    expect([server.effects.count, side.unknown]).toEqual([1, []]);
  });

  test(`${verifies("K-02", "K-09", "c004")}without events: a cut call ends as unknown at once; the session goes on`, async () => {
    const server = await startSdkServer(open, { keepsEvents: false });
    const proxy = await behindProxy(server);
    const side = await connect(proxy.url("/mcp"));
    const { result } = await begin(side);
    proxy.cutAll("rst");
    await expect(within(result, "its end")).rejects.toMatchObject({
      code: -32011,
      data: { type: "outcome-unknown", name: "work" },
    });
    expect(side.unknown).toHaveLength(1);
    expect(await side.tools()).toEqual(["work", "ask"]);
    expect(server.effects.count).toBe(1);
  });

  test(`${verifies("K-07", "c016")}a restarted server: the call in flight is unknown, the next one runs`, async () => {
    const server = await startSdkServer(open, { keepsEvents: true });
    const proxy = await behindProxy(server);
    const side = await connect(proxy.url("/mcp"));
    const before = side.transport.sessionId;
    const { result } = await begin(side);
    server.forget();
    proxy.cutAll("rst");
    await expect(within(result, "its end")).rejects.toMatchObject({ code: -32011 });
    server.letGo();
    expect(await side.call("work")).toBe("worked 2");
    expect(side.transport.sessionId).not.toBe(before);
  });
});
