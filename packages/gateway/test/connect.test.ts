/** `holdfast connect` as a host sees it, against a real `holdfast serve`: what passes both ways. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { disposeAll, faultProxy, verifies, within } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { startHost, stateFile } from "./connect-host.ts";
import { json, scriptedUpstream } from "./connect-upstream.ts";
import { scratchDirectory } from "./gateway-process.ts";
import { serveWorker } from "./worker.ts";

afterEach(disposeAll);

test("tools, progress, log messages, resources and nothing but JSON-RPC on stdout", async () => {
  const { url, effects } = await serveWorker();
  const host = await startHost(url);
  const { result } = await host.initialize();
  expect(result?.serverInfo).toMatchObject({ name: "worker" });
  expect((await host.request("tools/list")).result?.tools).toHaveLength(7);
  expect(await host.call("echo", { text: "naïve “quotes”" })).toBe("naïve “quotes”");
  const work = host.startTool("work", { name: "a" });
  await host.message(/notifications\/progress/);
  await host.call("advance", { name: "a", progress: 2, log: 1, done: true });
  expect((await host.answer(work)).result).toBeDefined();
  expect(host.steps(work)).toEqual([1, 2, 3]);
  await host.message(/"data":"a at 3"/);
  const read = await host.request("resources/read", { uri: "note://7" });
  expect(JSON.stringify(read.result)).toContain("the text of note://7");
  await host.request("resources/subscribe", { uri: "note://7" });
  await host.call("touch", { uri: "note://7" });
  await host.message(/resources\/updated.*note:\/\/7/);
  expect(effects("a")).toBe(1);
  host.process.endInput();
  expect(await host.process.exited).toEqual({ code: 0, signal: null });
  const ids = host.messages().flatMap(({ id, method }) => (method === undefined ? [id] : []));
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(["elicitation", "sampling", "roots"])(
  `${verifies("X-06")}a question of the server: %s`,
  async (kind) => {
    const host = await startHost((await serveWorker()).url);
    await host.initialize();
    const call = host.startTool("ask", { kind });
    const question = await host.message(/"method":"(elicitation\/create|sampling|roots)/);
    host.send({ jsonrpc: "2.0", id: question.id, result: { said: kind } });
    const answer = await host.answer(call);
    expect(JSON.stringify(answer.result)).toContain(kind);
  },
);

test(`${verifies("X-01")}a call that the host cancels is cancelled, and not answered`, async () => {
  const { url, effects } = await serveWorker();
  const host = await startHost(url);
  await host.initialize();
  const work = host.startTool("work", { name: "a" });
  await host.message(/notifications\/progress/);
  host.notify("notifications/cancelled", { requestId: work });
  await host.call("echo", { text: "after" });
  expect(effects("a cancelled")).toBe(1);
  expect(host.answers(work)).toBe(0);
});

test("headers go with every request, and secrets into no log", async () => {
  const upstream = await scriptedUpstream(() => false);
  const options = ["--header", "X-Team: blue", "--log-level", "trace"];
  const env = { HOLDFAST_HEADER: "Authorization: Bearer secret-token" };
  const line = await startHost(upstream.url, { options });
  await line.initialize();
  const variable = await startHost(`${upstream.url}?key=secret-key`, { options: [], env });
  await variable.initialize();
  for (const host of [line, variable]) {
    host.process.endInput();
    await host.process.exited;
    expect(host.process.stderr).not.toMatch(/secret/);
  }
  const teams = upstream.asked.map(({ headers }) => headers["x-team"] ?? headers.authorization);
  expect(new Set(teams)).toEqual(new Set(["blue", "Bearer secret-token"]));
});

test(`${verifies("K-12")}a second process on one state is told who holds it`, async () => {
  const { url } = await serveWorker();
  const state = stateFile();
  const first = await startHost(url, { state });
  await first.initialize();
  const second = await startHost(url, { state });
  expect(await second.process.exited).toEqual({ code: 1, signal: null });
  expect(second.process.stderr).toMatch(
    new RegExp(`^holdfast: .* is held by process ${first.process.pid}, .* started at \\d{4}-`),
  );
  expect(second.process.stdout).toBe("");
  expect(await first.call("echo", { text: "still here" })).toBe("still here");
});

test("without an option each URL has a state, for its owner alone", async () => {
  const home = scratchDirectory();
  const env = { XDG_STATE_HOME: home };
  const upstreams = [await scriptedUpstream(() => false), await scriptedUpstream(() => false)];
  for (const { url } of upstreams) {
    const host = await startHost(url, { state: null, env });
    expect((await host.initialize()).result).toBeDefined();
  }
  const directory = join(home, "holdfast");
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const files = readdirSync(directory).filter((name) => name.endsWith(".db"));
  expect(files).toHaveLength(2);
  for (const file of files) expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends it and keeps the session", async (name) => {
  const upstream = await scriptedUpstream(() => false);
  const host = await startHost(upstream.url);
  await host.initialize();
  expect(await host.process.kill(name)).toEqual({ code: 0, signal: null });
  expect(upstream.asked.map(({ verb }) => verb)).not.toContain("DELETE");
});

test("at the end of input with nothing in flight the session is ended, and forgotten", async () => {
  const upstream = await scriptedUpstream(() => false);
  const state = stateFile();
  for (const session of ["session-1", "session-2"]) {
    const host = await startHost(upstream.url, { state });
    await host.initialize();
    await host.request("ping");
    host.process.endInput();
    expect(await host.process.exited).toEqual({ code: 0, signal: null });
    // The GET of the standalone stream is made beside the rest, and may arrive after it.
    const last = upstream.asked.findLast(({ verb }) => verb !== "GET");
    expect([last?.verb, last?.headers["mcp-session-id"]]).toEqual(["DELETE", session]);
  }
});

test("a server that is away at the end of input does not hold the host up", async () => {
  const { target } = await serveWorker();
  const proxy = await faultProxy({ target });
  const host = await startHost(proxy.url("/mcp"));
  await host.initialize();
  proxy.blackhole(true);
  host.process.endInput();
  expect(await within(host.process.exited, "the exit")).toEqual({ code: 0, signal: null });
});

test("answers that come in the last moment are still given", async () => {
  const host = await startHost((await serveWorker()).url);
  await host.initialize();
  const id = host.startTool("echo", { text: "last" });
  host.process.endInput();
  await host.process.exited;
  expect(JSON.stringify(host.messages().find((one) => one.id === id))).toContain("last");
});

test(`${verifies("K-11")}--strict refuses a server that keeps events too short`, async () => {
  const capability = {
    ...{ contract: 1, windowMs: 1000, maxEvents: 10, maxBytes: 1000, idleTtlMs: 500 },
    ...{ retryMs: 10, heartbeatMs: 15_000, durability: "process" },
  };
  const upstream = await scriptedUpstream(({ message }, response) => {
    if (message?.method !== "initialize") return false;
    const experimental = { "dev.holdfast/resume": capability };
    const serverInfo = { name: "short", version: "1" };
    const result = { protocolVersion: "2025-11-25", capabilities: { experimental }, serverInfo };
    const headers = { "mcp-session-id": "s" };
    return json(response, 200, { jsonrpc: "2.0", id: message.id, result }, headers);
  });
  const strict = await startHost(upstream.url, { options: ["--strict"] });
  const { error } = await strict.request("initialize", { ...initializeLike });
  expect(error?.data).toMatchObject({ class: "window-too-short" });
  const lenient = await startHost(upstream.url);
  expect((await lenient.initialize()).result).toBeDefined();
  await lenient.process.line(/window-within-reconnect/);
});

const initializeLike = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "host", version: "1" },
};
