/**
 * Agent frameworks of others, unmodified, with `holdfast connect` as their server command: the
 * Vercel AI SDK and LangChain.
 */
import { fileURLToPath } from "node:url";
import { disposeAll, faultProxy, onDispose, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { quickly, stateFile } from "./connect-host.ts";
import { importInterop, requireInterop } from "./interop-packages.ts";
import { serveWorker } from "./worker.ts";

afterEach(disposeAll);

const bin = fileURLToPath(new URL("../bin/holdfast.js", import.meta.url));

interface Host {
  /** Names of the tools that it offers to its model. */
  tools(): Promise<readonly string[]>;
  /** As its model calls a tool. @returns the result as JSON */
  call(name: string, args: object): Promise<string>;
}

function commandOf(url: string) {
  const args = [bin, "connect", url, "--state", stateFile(), ...quickly];
  return { command: process.execPath, args, stderr: "ignore" as const };
}

interface AiTool {
  execute(args: object, options: object): Promise<unknown>;
}

interface AiSdk {
  createMCPClient(config: { readonly transport: object }): Promise<{
    tools(): Promise<Readonly<Record<string, AiTool>>>;
    close(): Promise<void>;
  }>;
}

interface AiSdkStdio {
  readonly Experimental_StdioMCPTransport: new (command: object) => object;
}

async function aiSdk(url: string): Promise<Host> {
  const { createMCPClient } = await importInterop<AiSdk>("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport: Stdio } =
    await importInterop<AiSdkStdio>("@ai-sdk/mcp/mcp-stdio");
  const client = await createMCPClient({ transport: new Stdio(commandOf(url)) });
  onDispose(() => client.close());
  const tools = await client.tools();
  return {
    tools: async () => Object.keys(tools),
    call: async (name, args) =>
      JSON.stringify(await tools[name]?.execute(args, { toolCallId: "1", messages: [] })),
  };
}

interface LangChain {
  readonly MultiServerMCPClient: new (config: {
    readonly mcpServers: Readonly<Record<string, object>>;
  }) => {
    getTools(): Promise<readonly { readonly name: string; invoke(args: object): unknown }[]>;
    close(): Promise<void>;
  };
}

async function langChain(url: string): Promise<Host> {
  const { MultiServerMCPClient } = await importInterop<LangChain>("@langchain/mcp-adapters");
  const worker = { transport: "stdio", ...commandOf(url) };
  const client = new MultiServerMCPClient({ mcpServers: { worker } });
  onDispose(() => client.close());
  const tools = await client.getTools();
  return {
    tools: async () => tools.map(({ name }) => name),
    call: async (name, args) =>
      JSON.stringify(await tools.find((tool) => tool.name === name)?.invoke(args)),
  };
}

const hosts = [
  ["Vercel AI SDK", aiSdk],
  ["LangChain", langChain],
] as const;

test.skipIf(!requireInterop()).each(hosts)(
  `${verifies("K-01", "R-01")}%s: lists and calls tools; cut in mid-call, one effect`,
  async (_name, start) => {
    const { target, effects } = await serveWorker(["--retry", "50ms"]);
    const proxy = await faultProxy({ target });
    const host = await start(proxy.url("/mcp"));
    expect(await host.tools()).toEqual(expect.arrayContaining(["echo", "work", "advance"]));
    expect(await host.call("echo", { text: "hello" })).toContain("hello");
    // Its answer takes 200 ms, and is cut as soon as it is asked for.
    const asked = proxy.nextRequest();
    const work = host.call("steady", { name: "a", steps: 4, everyMs: 50 });
    await asked;
    expect(proxy.cutAll("rst")).toBeGreaterThan(0);
    expect(await work).toContain("a done");
    expect(effects("a")).toBe(1);
  },
);
