import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import {
  acceptBoth,
  answerOf,
  disposeAll,
  initializeMessage,
  onDispose,
  openEventStream,
  openSession,
  rawRequest,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { holdfast, scratchDirectory, startGateway } from "./gateway-process.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

/** A place where processes hold a connection: it closes when they die. */
async function lifeline(): Promise<{ port: number; connected: Promise<Socket> }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onDispose(() => void server.close());
  const connected = once(server, "connection").then(([socket]) => socket as Socket);
  return { port: (server.address() as AddressInfo).port, connected };
}

function closeOf(socket: Socket): Promise<unknown> {
  return once(socket.on("error", () => {}).resume(), "close");
}

test("the start says where, on which log, how long clients may be away, and how to stop", async () => {
  const gateway = await startGateway(["serve", "--window", "2h", ...serverScript("{}")]);
  await gateway.line(/stop .*Ctrl-C/);
  expect(gateway.stdout).toMatch(/listens on http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
  expect(gateway.stdout).toContain("sqlite:./holdfast.db (survives the death of this process)");
  expect(gateway.stdout).toContain("clients may be away for up to 2 h");
  expect(gateway.stderr).toBe("");
});

test.each(["SIGINT", "SIGTERM"] as const)(
  `${verifies("c054")}%s ends it cleanly: exit code 0, children gone, log closed`,
  async (name) => {
    const { port, connected } = await lifeline();
    const hold = `(require("net").connect(${port}, "127.0.0.1").unref(), {})`;
    const directory = scratchDirectory();
    const gateway = await startGateway(["serve", ...serverScript(hold)], directory);
    const session = await openSession(gateway.url);
    const standalone = await session.get();
    const gone = closeOf(await within(connected, "the child"));
    expect(await gateway.kill(name)).toEqual({ code: 0, signal: null });
    await within(gone, "the end of the child");
    // [C D-02] no `close` event: the session goes on
    await standalone.rest();
    expect(standalone.events.filter((event) => event.event === "close")).toEqual([]);
    expect(() => readFileSync(join(directory, "holdfast.db-wal"))).toThrow();
  },
);

test("a second signal ends it at once, and takes a child along that heeds nothing", async () => {
  const { port, connected } = await lifeline();
  const deaf = `(process.on("SIGTERM", () => {}), setInterval(() => {}, 1e6),
    require("net").connect(${port}, "127.0.0.1"), {})`;
  const gateway = await startGateway(["serve", ...serverScript(deaf)]);
  await openSession(gateway.url);
  const gone = closeOf(await within(connected, "the child"));
  gateway.signal("SIGINT");
  await gateway.line(/draining: 0 calls/);
  const again = setInterval(() => gateway.signal("SIGINT"), 50);
  const exit = await within(gateway.exited, "the exit").finally(() => clearInterval(again));
  expect(exit).toEqual({ code: 130, signal: null });
  await within(gone, "the end of the child");
});

test("killed without warning, it leaves no child that reads its input", async () => {
  const { port, connected } = await lifeline();
  const hold = `(require("net").connect(${port}, "127.0.0.1").unref(), {})`;
  const gateway = await startGateway(["serve", "--log", "memory:", ...serverScript(hold)]);
  await openSession(gateway.url);
  const gone = closeOf(await within(connected, "the child"));
  await gateway.kill("SIGKILL");
  await within(gone, "the end of the child");
});

test.each<[string, string[], number, RegExp]>([
  ["a wrong option", ["serve", "--port", "x", "--", "true"], 2, /--port: "x".*\n.*--help/],
  ["no command", ["serve"], 2, /no command.*\n.*holdfast serve --/],
  [
    "a command that is not there",
    ["serve", "--", "no-such-8848"],
    1,
    /"no-such-8848" was not found.*\n.*path/,
  ],
  ["a log that is none", ["serve", "--log", "sqlite:/dev/null", "--", "true"], 1, /./],
  ["a short window", ["serve", "--window", "1m", "--", "true"], 2, /1m.*3m.*--window/],
])(
  "%s is told in a line or two, with the fix and no stack trace",
  async (_what, args, code, text) => {
    const process = await holdfast(args);
    expect(await within(process.exited, "the exit")).toEqual({ code, signal: null });
    expect(process.stdout).toBe("");
    expect(process.stderr).toMatch(text);
    expect(process.stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
    expect(process.stderr).not.toMatch(/^\s+at /m);
  },
);

test("a port in use, and a log that another process holds, are named", async () => {
  const directory = scratchDirectory();
  const first = await startGateway(["serve", ...serverScript("{}")], directory);
  const port = new URL(first.url).port;
  const samePort = await holdfast(["serve", "--log", "memory:", "--port", port, "--", "true"]);
  expect((await within(samePort.exited, "the exit")).code).toBe(1);
  expect(samePort.stderr).toBe(
    `holdfast: Port ${port} on 127.0.0.1 is in use.\n` +
      "Stop what listens there, or take another port: --port 0 finds a free one.\n",
  );
  const sameLog = await holdfast(["serve", "--port", "0", "--", "true"], directory);
  expect((await within(sameLog.exited, "the exit")).code).toBe(1);
  expect(sameLog.stderr).toMatch(new RegExp(`held by process ${first.pid} .*\n.+\n$`));
});

test(`${verifies("S-01", "R-01")}a call that is cut arrives once, from where it was cut`, async () => {
  const directory = scratchDirectory();
  const gateway = await startGateway(["demo", "serve"], directory);
  const session = await openSession(gateway.url);
  const args = { amount: 42, seconds: 2 };
  const cut = await session.call("charge", args, { progressToken: "p" });
  await cut.nextMessage((message) => message.method === "notifications/progress");
  cut.destroy("rst");
  const resumed = await session.get({ lastEventId: cut.lastEventId ?? "" });
  const answer = await resumed.response();
  expect(answer.result).toMatchObject({ content: [{ text: "charge #1: 42 was charged" }] });
  const steps = [...cut.messages, ...resumed.messages].flatMap((m) => m.params?.progress ?? []);
  expect(steps).toEqual([1, 2]);
  const charges = await answerOf(await session.call("charges"));
  expect(charges.result).toMatchObject({ content: [{ text: "1 charges\n#1: 42" }] });
  expect(readFileSync(join(directory, ".holdfast/charges.txt"), "utf8").match(/\n/g)).toHaveLength(
    1,
  );
});

test(`${verifies("c051")}a child that dies in mid-call: outcome unknown, and the next call works`, async () => {
  const directory = scratchDirectory();
  const gateway = await startGateway(["demo", "serve", "--log-level", "debug"], directory);
  const session = await openSession(gateway.url);
  const call = await session.call("charge", { amount: 1, seconds: 60 }, { progressToken: "p" });
  const [, pid] = await gateway.line(/"childPid":(\d+),"msg":"the upstream has started"/);
  await gateway.line(/charge #1: 1/);
  process.kill(Number(pid), "SIGKILL");
  expect((await call.response()).error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", reason: "upstream-exited" },
  });
  const charges = await answerOf(await session.call("charges"));
  expect(charges.result).toMatchObject({ content: [{ text: "1 charges\n#1: 1" }] });
});

test(`${verifies("c038")}a message over 32 MB fails its own call alone, and says the limit`, async () => {
  const tools = `{ big: ({ mb }) => "x".repeat(mb * 2 ** 20), small: () => ({ ok: true }) }`;
  const gateway = await startGateway(["serve", ...serverScript(tools)]);
  const session = await openSession(gateway.url);
  const tooBig = await session.request("big", { mb: 33 });
  const small = await answerOf(await session.request("small"));
  const whole = await answerOf(await session.request("big", { mb: 31 }));
  expect((await answerOf(tooBig)).error?.message).toContain(String(32 * 2 ** 20));
  expect(small.result).toEqual({ ok: true });
  expect(String(whole.result).length).toBe(31 * 2 ** 20);
});

test(`${verifies("S-03")}a child that ends at initialize ends its session, with an error`, async () => {
  const gateway = await startGateway(["serve", "--", "false"]);
  const stream = await openEventStream({
    url: gateway.url,
    method: "POST",
    body: JSON.stringify(initializeMessage()),
    headers: { accept: acceptBoth, "content-type": "application/json" },
  });
  expect((await answerOf(stream)).error?.code).toBe(-32011);
  const late = await rawRequest({
    url: gateway.url,
    method: "DELETE",
    headers: { "mcp-session-id": stream.headers["mcp-session-id"] },
  });
  expect(late.status).toBe(404);
});

test(`${verifies("P-03")}the log names a session by its tag, and shows neither its id nor a body`, async () => {
  const tools = `{ hush: ({ secret }) => (console.error("at work"), { secret }) }`;
  const gateway = await startGateway(["serve", "--log-level", "trace", ...serverScript(tools)]);
  const session = await openSession(gateway.url);
  await answerOf(await session.request("hush", { secret: "hunter2" }));
  const [line] = await gateway.line(/.*"msg":"at work".*/);
  await session.delete();
  await gateway.kill("SIGTERM");
  const tag = session.initializeStream.lastEventId?.split(".")[0];
  expect(JSON.parse(line)).toMatchObject({ session: tag, from: "stderr" });
  expect(gateway.stderr).not.toContain(session.sessionId);
  expect(gateway.stderr).not.toContain("hunter2");
});

test("children get the environment without HOLDFAST_ variables, and options by variable", async () => {
  const tools = "{ env: () => process.env }";
  const env = { HOLDFAST_PATH: "/other", HOLDFAST_HEARTBEAT: "0", API_KEY: "k" };
  const gateway = await startGateway(["serve", ...serverScript(tools)], scratchDirectory(), env);
  expect(new URL(gateway.url).pathname).toBe("/other");
  const session = await openSession(gateway.url);
  const { result = {} } = await answerOf(await session.request("env"));
  expect(result.API_KEY).toBe("k");
  expect(Object.keys(result).filter((name) => name.startsWith("HOLDFAST_"))).toEqual([]);
});

test(`${verifies("P-01")}an address that was named to listen on is answered, others are not`, async () => {
  const gateway = await startGateway(["serve", "--host", "127.0.0.2", ...serverScript("{}")]);
  const statusOf = async (host: string) =>
    (await rawRequest({ url: gateway.url, method: "DELETE", headers: { host } })).status;
  expect(await statusOf(new URL(gateway.url).host)).toBe(400);
  expect(await statusOf("evil.example")).toBe(403);
});

test("an older Node is told so in one line", async () => {
  const old = 'Object.defineProperty(process.versions, "node", { value: "20.9.0" })';
  const process = await holdfast(["--version"], scratchDirectory(), {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(old)}`,
  });
  expect((await process.exited).code).toBe(1);
  expect(process.stderr).toMatch(/^holdfast needs Node 22\.15 or newer[^\n]*npm ci[^\n]*\n$/);
});
