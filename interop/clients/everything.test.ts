/**
 * `@modelcontextprotocol/server-everything` as it is published, behind `holdfast serve`, and clients
 * of others as they are published: Inspector, mcp-remote, the AI SDK, LangChain. (The clients of both
 * SDKs: packages/gateway/test/everything-server.test.ts.)
 */
import { disposeAll, onDispose, spawnProcess, verifies, within } from "@holdfast/testkit";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { load, packageFile } from "../packages.ts";
import { gatewayTarget, type Target } from "../targets.ts";

let target: Target;
beforeAll(async () => {
  const server = packageFile("@modelcontextprotocol/server-everything/dist/index.js");
  target = await gatewayTarget(["--log", "memory:", "--", process.execPath, server]);
});
afterAll(disposeAll);

interface AiSdk {
  createMCPClient(config: {
    readonly transport: { readonly type: "http"; readonly url: string };
    readonly protocolVersionDiscovery: boolean;
  }): Promise<{
    tools(): Promise<
      Record<string, { execute(args: object, options: object): Promise<unknown> } | undefined>
    >;
    close(): Promise<void>;
  }>;
}

interface LangChain {
  readonly MultiServerMCPClient: new (config: {
    readonly mcpServers: Record<string, { readonly transport: "http"; readonly url: string }>;
  }) => {
    getTools(): Promise<{ readonly name: string; invoke(args: object): Promise<unknown> }[]>;
    close(): Promise<void>;
  };
}

test(`${verifies("S-01", "E-01")}the MCP client of the AI SDK`, async () => {
  const { createMCPClient } = await load<AiSdk>("@ai-sdk/mcp");
  const client = await createMCPClient({
    transport: { type: "http", url: target.url },
    // It asks for the 2026-07-28 revision first, and of a server that names others it makes an error.
    protocolVersionDiscovery: false,
  });
  onDispose(() => client.close());
  const tools = await client.tools();
  expect(Object.keys(tools).length).toBeGreaterThan(10);
  const options = { toolCallId: "1", messages: [] };
  const echoed = await tools.echo?.execute({ message: "hello" }, options);
  expect(JSON.stringify(echoed)).toContain("hello");
  const sum = await tools["get-sum"]?.execute({ a: 2, b: 40 }, options);
  expect(JSON.stringify(sum)).toContain("42");
});

test(`${verifies("S-01", "E-01")}the MCP adapters of LangChain`, async () => {
  const { MultiServerMCPClient } = await load<LangChain>("@langchain/mcp-adapters");
  const client = new MultiServerMCPClient({
    mcpServers: { everything: { transport: "http", url: target.url } },
  });
  onDispose(() => client.close());
  const tools = await client.getTools();
  expect(tools.length).toBeGreaterThan(10);
  const invoke = (name: string, args: object) =>
    tools.find((tool) => tool.name === name)?.invoke(args);
  expect(JSON.stringify(await invoke("echo", { message: "hello" }))).toContain("hello");
  expect(JSON.stringify(await invoke("get-sum", { a: 2, b: 40 }))).toContain("42");
});

test(`${verifies("S-01", "E-01")}mcp-remote, between a stdio host and the gateway`, async () => {
  const remote = packageFile("mcp-remote/dist/proxy.js");
  const client = new Client({ name: "host", version: "1.0.0" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [remote, target.url, "--transport", "http-only", "--allow-http"],
    env: { MCP_REMOTE_CONFIG_DIR: target.cwd, PATH: process.env.PATH ?? "" },
    stderr: "ignore",
  });
  onDispose(() => client.close());
  await client.connect(transport);
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  const { content } = await client.callTool({ name: "echo", arguments: { message: "hello" } });
  expect(JSON.stringify(content)).toContain("hello");
  const steps: number[] = [];
  const operation = {
    name: "trigger-long-running-operation",
    arguments: { duration: 1, steps: 4 },
  };
  await client.callTool(operation, undefined, {
    onprogress: ({ progress }) => void steps.push(progress),
  });
  // The last one comes with the result: the SDK's client may have forgotten the call by then.
  expect(steps.slice(0, 3)).toEqual([1, 2, 3]);
});

test(`${verifies("S-01", "E-01")}the Inspector's command line`, async () => {
  const file = packageFile("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const inspect = async (...args: string[]) => {
    const run = await spawnProcess("node", [
      ...[file, "--cli", target.url, "--transport", "http", "--format", "json", ...args],
    ]);
    const { code } = await within(run.exited, "the end of the Inspector", 30_000);
    expect(code, run.stderr).toBe(0);
    return run.stdout;
  };
  expect(await inspect("--method", "tools/list")).toContain("get-sum");
  const call = ["--method", "tools/call", "--tool-name", "echo", "--tool-args-json"];
  expect(await inspect(...call, '{"message":"hello"}')).toContain("hello");
});
