/**
 * Hosts of others, unmodified, with `holdfast connect` as their server command: the stdio clients
 * of both SDKs, and the Inspector's command line.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  disposeAll,
  faultProxy,
  onDispose,
  type Signal,
  signal,
  spawnProcess,
  verifies,
  within,
} from "@holdfast/testkit";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, test } from "vitest";
import { quickly, stateFile } from "./connect-host.ts";
import { scratchDirectory, startGateway } from "./gateway-process.ts";
import { interopPath, requireInterop } from "./interop-packages.ts";
import { serveWorker } from "./worker.ts";

afterEach(disposeAll);

const bin = fileURLToPath(new URL("../bin/holdfast.js", import.meta.url));
const info = { name: "stdio-host", version: "1.0.0" };
const blue = { action: "accept" as const, content: { colour: "blue" } };

interface Host {
  readonly client: ClientV1 | ClientV2;
  readonly notices: Signal<unknown>;
  call(
    name: string,
    args: object,
    onprogress?: (at: { progress: number }) => void,
  ): Promise<string>;
}

function commandOf(url: string, state: string, options: readonly string[]) {
  const command = process.execPath;
  const args = [bin, "connect", url, "--state", state, ...options];
  return { command, args, stderr: "ignore" as const };
}

async function hostV1(url: string, state: string, options = quickly): Promise<Host> {
  const client = new ClientV1(info, { capabilities: { elicitation: {} } });
  const notices = signal<unknown>("notice");
  client.setRequestHandler(ElicitRequestSchema, () => blue);
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) =>
    notices.emit(params.data),
  );
  await client.connect(new StdioV1(commandOf(url, state, options)));
  onDispose(() => client.close());
  const call: Host["call"] = async (name, args, onprogress) =>
    textOf(
      await client.callTool(
        { name, arguments: { ...args } },
        undefined,
        onprogress === undefined ? {} : { onprogress },
      ),
    );
  return { client, notices, call };
}

async function hostV2(url: string, state: string, options = quickly): Promise<Host> {
  const client = new ClientV2(info, { capabilities: { elicitation: {} } });
  const notices = signal<unknown>("notice");
  client.setRequestHandler("elicitation/create", () => blue);
  client.setNotificationHandler("notifications/message", ({ params }) => notices.emit(params.data));
  await client.connect(new StdioV2(commandOf(url, state, options)));
  onDispose(() => client.close());
  const call: Host["call"] = async (name, args, onprogress) =>
    textOf(
      await client.callTool(
        { name, arguments: { ...args } },
        onprogress === undefined ? {} : { onprogress },
      ),
    );
  return { client, notices, call };
}

function textOf(result: object): string {
  return JSON.stringify(result);
}

const hosts = [
  ["v1", hostV1],
  ["v2", hostV2],
] as const;

test.each(hosts)(
  "SDK %s: tools, resources, elicitation, and an end without rests",
  async (...sdk) => {
    const [, start] = sdk;
    const { url } = await serveWorker();
    const state = stateFile();
    for (let round = 1; round <= 2; round++) {
      const { client, call } = await start(url, state);
      expect((await client.listTools()).tools).toHaveLength(7);
      expect(await call("echo", { text: `round ${round}` })).toContain(`round ${round}`);
      expect(await call("ask", { kind: "elicitation" })).toContain("blue");
      const { contents } = await client.readResource({ uri: "note://7" });
      expect(JSON.stringify(contents)).toContain("the text of note://7");
      await client.close();
    }
  },
);

test.each(hosts)(
  `${verifies("K-01", "R-01")}SDK %s: cut in mid-call, one effect and every progress once`,
  async (_sdk, start) => {
    const { target, effects } = await serveWorker(["--retry", "50ms"]);
    const proxy = await faultProxy({ target });
    const { call } = await start(proxy.url("/mcp"), stateFile());
    const steps: number[] = [];
    const progressed = signal<number>("progress");
    const first = progressed.next();
    const work = call("work", { name: "a" }, ({ progress }) => {
      steps.push(progress);
      progressed.emit(progress);
    });
    await first;
    const third = progressed.next((progress) => progress === 3);
    proxy.cutAll("rst");
    await call("advance", { name: "a", progress: 2 });
    // The SDKs drop progress that they read together with the response behind it.
    await third;
    await call("advance", { name: "a", done: true });
    expect(await work).toContain("a done");
    expect(steps).toEqual([1, 2, 3]);
    expect(effects("a")).toBe(1);
  },
);

test.each(hosts)(
  `${verifies("K-10")}SDK %s: killed in mid-call and started again by its host, one effect`,
  async (_sdk, start) => {
    const { url, effects } = await serveWorker();
    const state = stateFile();
    const first = await start(url, state);
    const begun = Promise.withResolvers<void>();
    const lost = first.call("work", { name: "a" }, () => begun.resolve());
    lost.catch(() => {});
    await within(begun.promise, "the first progress");
    const transport = first.client.transport as StdioV1 | StdioV2;
    process.kill(transport.pid ?? 0, "SIGKILL");
    await expect(lost).rejects.toThrow(/closed/i);
    const second = await start(url, state);
    const again = second.call("work", { name: "a" });
    await second.call("advance", { name: "a", done: true });
    expect(await again).toContain("a done");
    expect(effects("a")).toBe(1);
  },
);

test.each(hosts)("SDK %s: notices come as log messages", async (_sdk, start) => {
  const { target } = await serveWorker(["--retry", "50ms"]);
  const proxy = await faultProxy({ target });
  const { call, notices } = await start(proxy.url("/mcp"), stateFile(), [
    ...["--reconnect-initial", "5ms", "--reconnect-attempts", "2"],
  ]);
  const gone = notices.next((data) => (data as { type?: unknown }).type === "parked");
  proxy.refuse(503);
  proxy.cutAll("rst");
  await gone;
  const back = notices.next((data) => (data as { type?: unknown }).type === "resumed");
  proxy.heal();
  expect(await call("echo", { text: "back" })).toContain("back");
  await back;
});

test.skipIf(!requireInterop())("Inspector: lists and calls tools by a command", async () => {
  const directory = scratchDirectory();
  const demo = fileURLToPath(new URL("../src/demo-server/main.ts", import.meta.url));
  const gateway = await startGateway(["serve", "--", process.execPath, demo], directory);
  const inspector = interopPath("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const state = join(directory, "state.db");
  const server = [process.execPath, bin, "connect", gateway.url, "--state", state];
  const inspect = async (...args: readonly string[]) => {
    const words = [inspector, "--cli", ...server, ...args];
    const run = await spawnProcess("node", words, { cwd: directory, env: { HOME: directory } });
    expect(await run.exited).toEqual({ code: 0, signal: null });
    return run.stdout;
  };
  expect(await inspect("--method", "tools/list")).toContain('"name": "charge"');
  const call = ["--method", "tools/call", "--tool-name", "charge"];
  expect(await inspect(...call, "--tool-arg", "amount=5", "seconds=0")).toContain(
    "charge #1: 5 was charged",
  );
});
