/** What MCP offers, through `holdfast serve`, for unmodified SDK clients. */
import { disposeAll, verifies, within } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectV2, type SdkClient, type SdkOptions, sdkClients, startWork } from "./sdk-client.ts";
import { range, serveWorker, type WorkerGateway } from "./worker.ts";

let gateway: WorkerGateway;
beforeAll(async () => {
  gateway = await serveWorker(["--log", "memory:"]);
});
afterAll(disposeAll);

const clients = [
  ...sdkClients,
  [
    "v2 that tries 2026-07-28 first",
    (url: string, options: SdkOptions = {}) => connectV2(url, { ...options, isAutomatic: true }),
  ] as const,
];

describe.concurrent.each(clients)("SDK %s", (sdk, connect) => {
  test(`${verifies("E-01", "X-02")}two calls at a time, each with its own progress and log`, async () => {
    const client = await connect(gateway.url);
    const names = (await client.client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("work");
    const [first, second] = [`${sdk} first`, `${sdk} second`];
    const works = [await startWork(client, first), await startWork(client, second)] as const;
    await client.call("advance", { name: second, progress: 4, log: 2, done: true });
    await client.call("advance", { name: first, progress: 2, log: 1, done: true });
    expect(await Promise.all(works.map(({ result }) => result))).toEqual([
      `${first} done`,
      `${second} done`,
    ]);
    expect(works.map(({ steps }) => steps)).toEqual([range(1, 3), range(1, 5)]);
    const lines = client.logged.map(({ data }) => data);
    expect(lines).toEqual([`${second} at 5`, `${second} at 5`, `${first} at 3`]);
    await client.client.setLoggingLevel("error");
    const third = await startWork(client, `${sdk} third`);
    await client.call("advance", { name: `${sdk} third`, log: 3, done: true });
    await third.result;
    expect(client.logged).toHaveLength(3);
  });

  test(`${verifies("E-01")}resources: list, read, subscribe, be told, unsubscribe`, async () => {
    const { client, call, updated, onUpdated } = await connect(gateway.url);
    const [resource] = (await client.listResources()).resources;
    expect(resource?.uri).toBe("note://1");
    const { contents } = await client.readResource({ uri: "note://1" });
    expect(contents).toEqual([{ uri: "note://1", text: "the text of note://1" }]);
    expect(await call("touch", { uri: "note://1" })).toBe("not subscribed");
    await client.subscribeResource({ uri: "note://1" });
    const told = onUpdated.next();
    expect(await call("touch", { uri: "note://1" })).toBe("told");
    expect(await told).toBe("note://1");
    await client.unsubscribeResource({ uri: "note://1" });
    expect(await call("touch", { uri: "note://1" })).toBe("not subscribed");
    expect(updated).toEqual(["note://1"]);
  });

  test(`${verifies("X-06")}the server asks: user, model, roots, and again`, async () => {
    const { call } = await connect(gateway.url);
    const ask = async (kind: string): Promise<unknown> => JSON.parse(await call("ask", { kind }));
    const elicited = { action: "accept", content: { colour: "blue" } };
    expect(await ask("elicitation")).toMatchObject(elicited);
    expect(await ask("sampling")).toMatchObject({ model: "m", content: { text: "green" } });
    expect(await ask("roots")).toMatchObject({ roots: [{ uri: "file:///work" }] });
    expect(await ask("elicitation")).toMatchObject(elicited);
  });

  test(`${verifies("X-01")}a cancelled call is cancelled, and nothing else is`, async () => {
    const client = await connect(gateway.url);
    const [kept, dropped] = [`${sdk} kept`, `${sdk} dropped`];
    const keptWork = await startWork(client, kept);
    const abort = new AbortController();
    const work = await startWork(client, dropped, { signal: abort.signal });
    const failed = work.result.catch((error: unknown) => error);
    const told = client.onRequest.next(({ status }) => status === 202);
    abort.abort("enough");
    expect(await within(failed, "the cancelled call")).toBeInstanceOf(Error);
    await told;
    // What is sent after the cancellation reaches the upstream after it.
    await client.call("echo", { text: "after" });
    expect(gateway.effects(`${dropped} cancelled`)).toBe(1);
    await client.call("advance", { name: kept, done: true });
    expect(await keptWork.result).toBe(`${kept} done`);
    expect(gateway.effects(`${kept} cancelled`)).toBe(0);
  });
});

test(`${verifies("S-09")}a client that speaks 2026-07-28 falls back to initialize`, async () => {
  const client = await connectV2(gateway.url, { isAutomatic: true });
  const statuses = client.requests.map(({ method, status }) => [method, status]);
  expect(statuses.slice(0, 2)).toEqual([
    ["POST", 400],
    ["POST", 200],
  ]);
  expect(versionOf(client)).toBe("2025-11-25");
  expect(await client.call("echo", { text: "works" })).toBe("works");
});

function versionOf({ client }: SdkClient): string | undefined {
  return "getNegotiatedProtocolVersion" in client
    ? client.getNegotiatedProtocolVersion()
    : undefined;
}
