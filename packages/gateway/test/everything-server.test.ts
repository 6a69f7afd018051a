/**
 * `@modelcontextprotocol/server-everything`, a published stdio server on the official SDK, behind
 * `holdfast serve`, driven by unmodified SDK clients. Over its own HTTP transport a cut in its long
 * operation loses the result: its store gives the SDK an event id for a stream. Here it arrives.
 */
import { disposeAll, faultProxy, verifies } from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatewayProcess, startGateway } from "./gateway-process.ts";
import { interopPath, requireInterop } from "./interop-packages.ts";
import { sdkClients } from "./sdk-client.ts";
import { range } from "./worker.ts";

const isMissing = !requireInterop();
let gateway: GatewayProcess;
beforeAll(async () => {
  if (isMissing) return;
  const server = interopPath("@modelcontextprotocol/server-everything/dist/index.js");
  gateway = await startGateway(["serve", "--retry", "50ms", "--", process.execPath, server]);
});
afterAll(disposeAll);

const eachSdk = test.skipIf(isMissing).concurrent.each(sdkClients);

eachSdk(
  `${verifies("E-01", "X-06")}SDK %s: tools, prompts, completion, resources, log and questions`,
  async (_sdk, connect) => {
    const { client, call, updated, onUpdated, logged, onLogged } = await connect(gateway.url);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(await call("echo", { message: "hello" })).toContain("hello");
    expect(await call("get-sum", { a: 2, b: 40 })).toContain("42");
    expect(await call("trigger-sampling-request", { prompt: "colour?" })).toContain("green");
    expect(await call("trigger-elicitation-request", {})).toMatch(/provided|blue/i);
    expect(await call("get-roots-list", {})).toContain("file:///work");

    const [prompt] = (await client.listPrompts()).prompts;
    const got = await client.getPrompt({ name: prompt?.name ?? "" });
    expect(got.messages.length).toBeGreaterThan(0);
    const ref = { type: "ref/prompt" as const, name: "completable-prompt" };
    const argument = { name: "department", value: "S" };
    const { completion } = await client.complete({ ref, argument });
    expect(completion.values).toEqual(["Sales", "Support"]);
    const [resource] = (await client.listResources()).resources;
    const uri = resource?.uri ?? "";
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri });

    await client.subscribeResource({ uri });
    const told = onUpdated.next();
    await call("toggle-subscriber-updates", {});
    expect(await told).toBe(uri);
    await call("toggle-subscriber-updates", {});
    expect(new Set(updated)).toEqual(new Set([uri]));
    const line = onLogged.next(({ data }) => /level.message/.test(String(data)));
    await client.setLoggingLevel("debug");
    await call("toggle-simulated-logging", {});
    await line;
    await call("toggle-simulated-logging", {});
    expect(logged.length).toBeGreaterThan(0);
  },
);

eachSdk(
  `${verifies("S-01", "R-01", "E-08")}SDK %s: a long operation that is cut twice arrives whole`,
  async (_sdk, connect) => {
    const { hostname: host, port } = new URL(gateway.url);
    const proxy = await faultProxy({ target: { host, port: Number(port) } });
    const { call } = await connect(proxy.url("/mcp"));
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => {
      steps.push(progress);
      if (progress === 2) proxy.cutAll("rst");
      if (progress === 6) proxy.cutAll("half-close");
    };
    const args = { duration: 3, steps: 10 };
    expect(await call("trigger-long-running-operation", args, { onprogress })).toContain(
      "completed",
    );
    expect(steps).toEqual(range(1, 10));
    expect(proxy.counts.cuts).toBeGreaterThanOrEqual(2);
  },
);
