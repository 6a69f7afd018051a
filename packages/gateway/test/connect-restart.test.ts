/**
 * `holdfast connect` whose process dies, and the next one on the same state; and a `holdfast serve`
 * that dies in front of it.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { disposeAll, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { quickly, type StdioHost, startHost, stateFile } from "./connect-host.ts";
import { scratchDirectory, startGateway } from "./gateway-process.ts";
import { serveWorker, textOf } from "./worker.ts";

afterEach(disposeAll);

async function startWork(host: StdioHost, name: string): Promise<number> {
  const work = host.startTool("work", { name });
  await host.message(new RegExp(`"progressToken":${work},`));
  return work;
}

test(`${verifies("K-03", "K-10", "K-14")}killed in mid-call: the same call of the next process gets the result`, async () => {
  const { url, effects } = await serveWorker();
  const state = stateFile();
  const first = await startHost(url, { state });
  const answer = await first.initialize();
  await startWork(first, "a");
  // A cursor is stored after the hand-on; by this it certainly is.
  await first.call("echo", { text: "later" });
  await first.process.kill("SIGKILL");

  const second = await startHost(url, { state });
  expect((await second.initialize()).result).toEqual(answer.result);
  const again = second.startTool("work", { name: "a" });
  await second.call("advance", { name: "a", progress: 1, done: true });
  expect(textOf(await second.answer(again))).toBe("a done");
  expect(second.steps(again)).toEqual([2]);
  expect(effects("a")).toBe(1);
  // Once: what is called a second time is meant a second time.
  await startWork(second, "a");
  expect(effects("a")).toBe(2);
});

test("--no-reattach runs it again", async () => {
  const { url, effects } = await serveWorker();
  const state = stateFile();
  const first = await startHost(url, { state });
  await first.initialize();
  await startWork(first, "a");
  await first.process.kill("SIGKILL");
  const second = await startHost(url, { state, options: [...quickly, "--no-reattach"] });
  await second.initialize();
  await startWork(second, "a");
  expect(effects("a")).toBe(2);
});

test(`${verifies("K-10")}the end of input in mid-call keeps it, over a process that does not ask`, async () => {
  const { url, effects } = await serveWorker();
  const state = stateFile();
  const first = await startHost(url, { state });
  await first.initialize();
  await startWork(first, "a");
  first.process.endInput();
  expect(await first.process.exited).toEqual({ code: 0, signal: null });

  const second = await startHost(url, { state });
  await second.initialize();
  await second.call("advance", { name: "a", done: true });
  second.process.endInput();
  expect(await second.process.exited).toEqual({ code: 0, signal: null });

  const third = await startHost(url, { state });
  await third.initialize();
  expect(await third.call("work", { name: "a" })).toBe("a done");
  expect(effects("a")).toBe(1);
  third.process.endInput();
  expect((await third.process.exited).code).toBe(0);
  await third.process.line(/"isKept":false.*"over"/);
});

test(`${verifies("K-10")}another host gets a session of its own, and the old call its end`, async () => {
  const { url, effects } = await serveWorker();
  const state = stateFile();
  const first = await startHost(url, { state });
  await first.initialize();
  const args = { name: "a", steps: 2, everyMs: 700 };
  const steady = first.startTool("steady", args);
  await first.message(new RegExp(`"progressToken":${steady},`));
  await first.process.kill("SIGKILL");
  const second = await startHost(url, { state });
  const clientInfo = { name: "another", version: "2" };
  await second.initialize({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  expect(await second.call("steady", args)).toBe("a done");
  expect(effects("a")).toBe(1);
});

test(`${verifies("S-07", "X-05")}the server is killed in mid-call: an unknown outcome at once, and the session goes on`, async () => {
  const directory = scratchDirectory();
  const worker = fileURLToPath(new URL("./worker-server.ts", import.meta.url));
  const command = [process.execPath, worker, join(directory, "effects")];
  const args = ["serve", "--retry", "50ms", "--", ...command];
  const gateway = await startGateway(args, directory);
  const host = await startHost(gateway.url);
  await host.initialize();
  const work = await startWork(host, "a");
  await gateway.kill("SIGKILL");
  await startGateway(args, directory, { HOLDFAST_PORT: new URL(gateway.url).port });
  const { error } = await host.answer(work);
  expect(error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", requestId: work, method: "tools/call", name: "work" },
  });
  expect(error?.message).toMatch(/It may or may not have taken effect/);
  expect(await host.call("echo", { text: "again" })).toBe("again");
});
