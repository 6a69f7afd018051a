import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Upstream } from "@holdfast/server";
import { disposeAll, onDispose, signal, verifies, within } from "@holdfast/testkit";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { stdioUpstreams } from "../src/stdio-upstream.ts";

afterEach(disposeAll);

/** So long that a test which waits for it fails. */
const neverMs = 600_000;

interface Started {
  readonly upstream: Upstream;
  readonly messages: string[];
  readonly oversized: { idJson: string | undefined; bytes: number; bytesMax: number }[];
  readonly exits: string[];
  readonly logged: Record<string, unknown>[];
  /** Until so many messages have come, or log lines. */
  received(count: number): Promise<void>;
  loggedLine(matches: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  exited(): Promise<string>;
  killAll(): void;
}

interface StartOptions {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly graceMs?: number;
  readonly eventBytesMax?: number;
  readonly hold?: (text: string) => Promise<void> | undefined;
}

/** Start a child that runs `script` in Node (CommonJS), as the server of session "t4g". */
async function start(script: string, options: StartOptions = {}): Promise<Started> {
  const happened = signal<string>("event of the upstream");
  const messages: string[] = [];
  const oversized: Started["oversized"] = [];
  const exits: string[] = [];
  const logged: Record<string, unknown>[] = [];
  const logger = pino(
    { level: "debug", base: null },
    {
      write: (line) => {
        logged.push(JSON.parse(line) as Record<string, unknown>);
        happened.emit("log");
      },
    },
  );
  const factory = stdioUpstreams({
    command: options.command ?? process.execPath,
    args: options.args ?? ["-e", script],
    env: process.env,
    eventBytesMax: options.eventBytesMax ?? 32 * 2 ** 20,
    graceMs: options.graceMs ?? neverMs,
    logger,
  });
  const setup = { initialize: "{}", version: undefined, level: undefined, subscriptions: {} };
  const upstream = await factory.start(
    {
      id: "s",
      principal: "",
      setup,
      tag: "t4g",
      kept: undefined,
      keep: async () => {},
      headers: () => ({}),
    },
    {
      onMessage: (text) => {
        messages.push(text);
        happened.emit("message");
        return options.hold?.(text);
      },
      onLetGo: () => {},
      onOversized: (message) => {
        oversized.push(message);
        happened.emit("message");
      },
      onUnknown: () => {},
      onExit: (reason) => {
        exits.push(reason);
        happened.emit("exit");
      },
    },
  );
  onDispose(() => {
    factory.killAll();
    return upstream.close();
  });
  return {
    upstream,
    messages,
    oversized,
    exits,
    logged,
    killAll: factory.killAll,
    received: async (count) => {
      while (messages.length + oversized.length < count) await happened.next();
    },
    loggedLine: async (matches) => {
      for (;;) {
        const found = logged.find(matches);
        if (found !== undefined) return found;
        await happened.next();
      }
    },
    exited: async () => {
      while (exits.length === 0) await happened.next();
      return exits[0] ?? "";
    },
  };
}

/** A child that gives back each line. */
const echo = "process.stdin.pipe(process.stdout)";

test(`${verifies("E-12")}text goes both ways whole: separators, NUL, large numbers, emoji`, async () => {
  const { upstream, messages, received } = await start(echo);
  const text = `{"a":"\u2028\u2029\u0085\\u0000\\r\\n\ufeff😀","n":123456789012345678901234567890.10}`;
  await upstream.send(text);
  await received(1);
  expect(messages).toEqual([text]);
});

test("the line breaks of a pretty-printed message become blanks", async () => {
  const { upstream, messages, received } = await start(echo);
  await upstream.send('{\r\n  "id": 1,\n  "text": "a\\nb"\n}');
  await received(1);
  expect(messages).toEqual(['{    "id": 1,   "text": "a\\nb" }']);
});

test(`${verifies("c038")}a message of 10 MB comes whole`, async () => {
  const { upstream, messages, received } = await start(echo);
  const text = `{"text":"${"ü".repeat(5 * 2 ** 20)}"}`;
  const sent = upstream.send(text);
  await received(1);
  await sent;
  expect(messages[0] === text).toBe(true);
});

test("what is no message is logged with the session's tag, and the next message comes", async () => {
  const { messages, received, logged } = await start(`
    console.log("Server ready \\x1b[31mred\\x1b[0m");
    console.log('{"secret": broken');
    console.log("");
    console.log("x".repeat(5000));
    console.log('{"id":1}');
    setInterval(() => {}, 1e6);
  `);
  await received(1);
  expect(messages).toEqual(['{"id":1}']);
  const warnings = logged.filter((line) => line.level === 40);
  expect(warnings).toHaveLength(3);
  expect(warnings.every((line) => line.session === "t4g")).toBe(true);
  expect(warnings[0]?.text).toBe("Server ready red");
  expect(String(warnings[2]?.text)).toHaveLength(200);
});

test(`${verifies("P-03")}what begins like a message is not shown in the log`, async () => {
  const { received, logged } = await start(`
    console.log('{"secret": "hunter2", broken');
    console.log('{"id":1}');
    setInterval(() => {}, 1e6);
  `);
  await received(1);
  expect(JSON.stringify(logged)).not.toContain("hunter2");
});

test(`${verifies("c038")}a message over the limit is told by its id; the next ones come`, async () => {
  const { messages, oversized, received } = await start(
    `
    console.log(JSON.stringify({ jsonrpc: "2.0", id: 7, result: "x".repeat(2000) }));
    console.log(JSON.stringify({ jsonrpc: "2.0", result: "x".repeat(2000), id: "z" }));
    console.log(JSON.stringify({ jsonrpc: "2.0", method: "m", params: "x".repeat(2000) }));
    console.log('{"id":1}');
    setInterval(() => {}, 1e6);
  `,
    { eventBytesMax: 1000 },
  );
  await received(4);
  expect(messages).toEqual(['{"id":1}']);
  expect(oversized).toEqual([
    { idJson: "7", bytes: 2036, bytesMax: 1000 },
    { idJson: '"z"', bytes: 2038, bytesMax: 1000 },
    { idJson: undefined, bytes: 2042, bytesMax: 1000 },
  ]);
});

test("a request over the limit is answered to the upstream, which would wait for ever", async () => {
  const { messages, received, oversized } = await start(
    `
    console.log(JSON.stringify({ id: 9, method: "sampling/createMessage", params: "x".repeat(2000) }));
    ${echo};
  `,
    { eventBytesMax: 1000 },
  );
  await received(1);
  expect(JSON.parse(messages[0] ?? "")).toMatchObject({ id: 9, error: { code: -32600 } });
  expect(oversized).toEqual([]);
});

test("while the log is behind nothing more is read", async () => {
  const gate = Promise.withResolvers<void>();
  const { messages, received } = await start(
    `console.log('{"id":1}\\n{"id":2}'); setInterval(() => {}, 1e6);`,
    { hold: (text) => (text === '{"id":1}' ? gate.promise : undefined) },
  );
  await received(1);
  // Both lines came in one piece; a reader that did not wait would have handed on the second.
  await new Promise((resolve) => setImmediate(resolve));
  expect(messages).toEqual(['{"id":1}']);
  gate.resolve();
  await received(2);
  expect(messages).toEqual(['{"id":1}', '{"id":2}']);
});

test.each([
  ["exits", "process.exit(3)", "exited with code 3"],
  ["is killed", 'process.kill(process.pid, "SIGKILL")', "was killed by SIGKILL"],
  [
    "closes its output",
    "require('fs').closeSync(1); setInterval(() => {}, 1e6)",
    "closed its output",
  ],
])(
  `${verifies("c051")}a child that %s: told once, after its last message`,
  async (_how, end, reason) => {
    const script = `require("fs").writeSync(1, '{"id":1}\\n{"id":2}'); ${end};`;
    const child = await start(script, { graceMs: 1 });
    expect(await child.exited()).toBe(reason);
    expect(child.messages).toEqual(['{"id":1}', '{"id":2}']);
    await child.upstream.close();
    expect(child.exits).toEqual([reason]);
    await expect(child.upstream.send("{}")).rejects.toThrow();
  },
);

test("a child that no longer reads is gone", async () => {
  const child = await start(
    `require("fs").closeSync(0); console.log('{"id":1}'); setInterval(() => {}, 1e6);`,
    { graceMs: 1 },
  );
  await child.received(1);
  await expect(child.upstream.send("{}")).rejects.toThrow(/EPIPE/);
  expect(await child.exited()).toBe("closed its input");
});

test("a child that does not read holds the sender back, not the memory", async () => {
  const child = await start(`console.log('{"id":1}'); setInterval(() => {}, 1e6);`, { graceMs: 1 });
  await child.received(1);
  let isTaken = false;
  const sent = child.upstream.send(`"${"x".repeat(2 ** 22)}"`).finally(() => {
    isTaken = true;
  });
  sent.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  expect(isTaken).toBe(false);
  await child.upstream.close();
  await expect(sent).rejects.toThrow();
});

test("a command that is not there, or may not be run, is a sentence with a fix", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-"));
  onDispose(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "server");
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o644);
  await expect(start("", { command: "no-such-command-8848" })).rejects.toMatchObject({
    code: "ERR_UPSTREAM_START",
    message: 'The command "no-such-command-8848" was not found.',
  });
  await expect(start("", { command: file })).rejects.toMatchObject({
    code: "ERR_UPSTREAM_START",
    message: expect.stringContaining("permission denied"),
  });
});

test("a child that ends with its input gets no signal", async () => {
  const child = await start(`
    process.on("SIGTERM", () => console.error("SIGTERM"));
    process.stdin.on("end", () => { console.error("input ended"); clearInterval(timer); });
    process.stdin.resume();
    const timer = setInterval(() => {}, 1e6);
    console.log('{"id":1}');
  `);
  await child.received(1);
  await within(child.upstream.close(), "the end of a polite child");
  expect(child.logged.map((line) => line.msg)).toContain("input ended");
  expect(child.logged.map((line) => line.msg)).not.toContain("SIGTERM");
  expect(child.exits).toEqual([]);
});

test("one that does not gets SIGTERM, and then SIGKILL", async () => {
  const child = await start(
    `
    process.on("SIGTERM", () => console.error("SIGTERM"));
    setInterval(() => {}, 1e6);
    console.log('{"id":1}');
  `,
    { graceMs: 200 },
  );
  await child.received(1);
  const closed = child.upstream.close();
  await child.loggedLine((line) => line.msg === "SIGTERM");
  await within(closed, "the end of a stubborn child");
  expect(child.upstream.close()).toBe(closed);
  expect(child.exits).toEqual([]);
});

/** A place where processes hold a connection: it closes when they die. */
async function lifeline(): Promise<{ port: number; connected: Promise<Socket> }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onDispose(() => void server.close());
  const connected = once(server, "connection").then(([socket]) => socket as Socket);
  return { port: (server.address() as AddressInfo).port, connected };
}

/** A shell that starts a server of its own and does not pass signals on. */
function wrapped(port: number): StartOptions {
  const inner = `require("net").connect(${port}, "127.0.0.1"); process.stdin.resume();`;
  const script = `process.on("SIGTERM", () => {}); ${inner}`;
  return { command: "/bin/sh", args: ["-c", `"$0" -e '${script}'; true`, process.execPath] };
}

test.each([
  ["close", (child: Started) => void child.upstream.close()],
  ["killAll", (child: Started) => child.killAll()],
])("what a child started ends with it: %s", async (_how, end) => {
  const { port, connected } = await lifeline();
  const child = await start("", { ...wrapped(port), graceMs: 50 });
  const socket = await within(connected, "the grandchild");
  const gone = once(socket.on("error", () => {}).resume(), "close");
  end(child);
  await within(gone, "the end of the grandchild");
});

test("a wrapper that dies takes the server it started along", async () => {
  const { port, connected } = await lifeline();
  const inner = `require("net").connect(${port}, "127.0.0.1"); setInterval(() => {}, 1e6)`;
  const child = await start("", {
    command: "/bin/sh",
    args: ["-c", `"$0" -e '${inner}' </dev/null & read go; kill -9 $$`, process.execPath],
  });
  const socket = await within(connected, "the grandchild");
  const gone = once(socket.on("error", () => {}).resume(), "close");
  await child.upstream.send("{}");
  expect(await child.exited()).toBe("was killed by SIGKILL");
  await within(gone, "the end of the grandchild");
});

test("stderr goes to the log line by line, with the tag, and no line is long", async () => {
  const child = await start(`
    console.error("first\\n\\nsecond \\x1b[1mbold\\x1b[0m");
    console.error("y".repeat(20000));
    console.log('{"id":1}');
    setInterval(() => {}, 1e6);
  `);
  const long = await child.loggedLine((line) => String(line.msg).startsWith("yyy"));
  expect(long.msg).toBe(`${"y".repeat(8192)}… (20000 bytes)`);
  const lines = child.logged.filter((line) => line.from === "stderr");
  expect(lines.map((line) => line.msg).slice(0, 2)).toEqual(["first", "second bold"]);
  expect(lines.every((line) => line.session === "t4g")).toBe(true);
});
