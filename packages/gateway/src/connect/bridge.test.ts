/** The bridge and the host's pipes, with a transport that does what the test says. */
import { PassThrough } from "node:stream";
import type { JsonObject } from "@holdfast/contract";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { recordingLogger } from "../../test/recording-logger.ts";
import { createBridge } from "./bridge.ts";
import { createHost, messageBytesMax } from "./host.ts";
import type { Notice } from "./notices.ts";

interface Scene {
  readonly sent: JsonObject[];
  readonly written: () => JsonObject[];
  readonly bridge: ReturnType<typeof createBridge>;
  say(...lines: readonly (string | object)[]): void;
  /** The end of input, and everything said was brought over. */
  end(): Promise<void>;
}

function scene(send: (message: JsonObject) => Promise<void> = async () => {}): Scene {
  const input = new PassThrough();
  const output = new PassThrough();
  const sent: JsonObject[] = [];
  const host = createHost({ input, output });
  const carrier = {
    send: (message: JsonObject) => {
      sent.push(message);
      return send(message);
    },
  };
  const bridge = createBridge(host, carrier, recordingLogger().logger);
  const running = bridge.run();
  let text = "";
  output.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  return {
    sent,
    bridge,
    written: () =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as JsonObject),
    say: (...lines) => {
      for (const line of lines) {
        input.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
      }
    },
    end: async () => {
      input.end();
      await running;
      // What was refused is answered in the next turn; output comes in the one after it.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    },
  };
}

test("a host that asks for the stateless revision is told to initialize, and the server is not asked", async () => {
  const { sent, say, end, written } = scene();
  say({ jsonrpc: "2.0", id: 0, method: "server/discover", params: {} }, ping(1));
  await end();
  expect(written()).toMatchObject([{ id: 0, error: { code: -32601 } }]);
  expect(sent).toEqual([ping(1)]);
});

const ping = (id: string | number) => ({ jsonrpc: "2.0", id, method: "ping" });
const notice = (type: string): Notice => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { level: "info", logger: "holdfast", data: { type, message: "" } },
});
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

test("messages go over in their order, and back", async () => {
  const { sent, say, end, bridge, written } = scene();
  const messages = [ping(1), initialized, { jsonrpc: "2.0", id: 4, result: {} }, ping("1")];
  say(...messages, "", "  ");
  bridge.deliver({ jsonrpc: "2.0", id: 1, result: { text: "a\nb\u2028" } });
  await end();
  expect(sent).toEqual(messages);
  expect(written()).toEqual([{ jsonrpc: "2.0", id: 1, result: { text: "a\nb\u2028" } }]);
});

test(`${verifies("c017")}what cannot be brought over: a request is answered once, others never`, async () => {
  const { say, end, written } = scene(async () => {
    throw Object.assign(new Error("gone"), { code: "ERR_NOT_RUN" });
  });
  say(ping(5), initialized, { jsonrpc: "2.0", id: 6, result: {} });
  await end();
  expect(written()).toEqual([
    { jsonrpc: "2.0", id: 5, error: expect.objectContaining({ code: -32000 }) },
  ]);
});

test("what is no message is answered by what is wrong with it", async () => {
  const { sent, say, end, written } = scene();
  say("{nonsense", "[]", '{"jsonrpc":"2.0","id":7,"method":7}', '{"jsonrpc":"2.0","id":8}');
  await end();
  expect(sent).toEqual([]);
  expect(written().map(({ id, error }) => [id, (error as JsonObject).code])).toEqual([
    [null, -32700],
    [null, -32600],
    [7, -32600],
    [null, -32600],
  ]);
});

test("the messages of an array go over one by one", async () => {
  const { sent, say, end } = scene();
  say([ping(1), initialized]);
  await end();
  expect(sent).toEqual([ping(1), initialized]);
});

test("a request that is too large is refused under its id", async () => {
  const { sent, say, end, written } = scene();
  say({ ...ping(9), params: { text: "x".repeat(messageBytesMax) } }, ping(10));
  await end();
  expect(sent).toEqual([ping(10)]);
  expect(written()).toMatchObject([
    { id: 9, error: { data: { class: "too-large", notRun: true } } },
  ]);
});

test("notices wait for the host's initialized, and keep their order", async () => {
  const { say, end, bridge, written } = scene();
  bridge.tell(notice("first"));
  bridge.tell(notice("second"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(written()).toEqual([]);
  say(initialized);
  await bridge.initialized;
  bridge.tell(notice("third"));
  await end();
  expect(written()).toEqual([notice("first"), notice("second"), notice("third")]);
});

test("who is initialized never gets more than the newest notices", async () => {
  const { say, end, bridge, written } = scene();
  for (let i = 0; i < 500; i++) bridge.tell(notice(String(i)));
  say(initialized);
  await end();
  expect(written()).toHaveLength(100);
  expect(written().at(-1)).toEqual(notice("499"));
});

test("a host that does not read holds the drain, and one that leaves ends it", async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const host = createHost({ input, output });
  await host.drained();
  host.write({ text: "x".repeat(100_000) });
  let isDrained = false;
  const drained = host.drained().then(() => {
    isDrained = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDrained).toBe(false);
  output.resume();
  await drained;
  output.pause();
  host.write({ text: "x".repeat(100_000) });
  const left = host.drained();
  output.destroy();
  await left;
  await host.gone;
  host.write({ text: "to nobody" });
});
