/**
 * A call under a key, whose answer is lost and whose session is ended: in the next session it goes
 * out again where the server says that keys reach there [C K-07], and only there.
 */
import { ResumableClientTransport } from "@holdfast/client";
import { disposeAll, onDispose, type RpcMessage, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { initializeParams } from "./connect-host.ts";
import { serveWorker, textOf } from "./worker.ts";

afterEach(disposeAll);

const call = { name: "steady", arguments: { name: "paid", steps: 0, everyMs: 0 } };

/** The n-th call: its session. */
interface Sent {
  readonly sessionId: string;
  readonly key: string | null;
}

async function played(options: readonly string[]) {
  const gateway = await serveWorker(options);
  const sent: Sent[] = [];
  const answers = new Map<unknown, (message: RpcMessage) => void>();
  // One that listens everywhere is asked by this machine alone.
  const url = gateway.url.replace("0.0.0.0", "127.0.0.1");
  const transport = new ResumableClientTransport(url, {
    reconnect: { initialDelayMs: 10 },
    fetch: async (to, init = {}) => {
      const response = await fetch(to, init);
      if (!String(init.body).includes('"tools/call"')) return response;
      const headers = new Headers(init.headers);
      const sessionId = headers.get("mcp-session-id") ?? "";
      sent.push({ sessionId, key: headers.get("idempotency-key") });
      if (sent.length > 1) return response;
      // It has run, nobody hears of it, and its session ends.
      await response.text();
      await fetch(to, { method: "DELETE", headers: { "mcp-session-id": sessionId } });
      throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
    },
  });
  onDispose(() => transport.close());
  transport.onmessage = (message) => {
    const one = message as RpcMessage;
    answers.get(one.id)?.(one);
  };
  const ask = (id: number, method: string, params: object) =>
    new Promise<RpcMessage>((resolve, reject) => {
      answers.set(id, resolve);
      transport.send({ jsonrpc: "2.0", id, method, params }).catch(reject);
    });
  await transport.start();
  await ask(0, "initialize", initializeParams);
  const answer = await ask(1, "tools/call", call);
  return { answer, sent, runs: () => gateway.effects("paid") };
}

test(`${verifies("K-07", "X-03")}keys that all share: one effect, and its result, in the next session`, async () => {
  const { answer, sent, runs } = await played([]);
  expect(textOf(answer)).toBe("paid done");
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  expect(new Set(sent.map(({ sessionId }) => sessionId)).size).toBe(2);
  expect(runs()).toBe(1);
});

test.each([
  ["keys of the session alone", ["--host", "0.0.0.0"]],
  ["keys in memory", ["--log", "memory:"]],
])(`${verifies("K-07", "X-03")}%s: one effect, and an unknown outcome`, async (_what, options) => {
  const { answer, sent, runs } = await played(options);
  expect(answer.error).toMatchObject({ code: -32011, data: { reason: "session-gone" } });
  expect(sent).toHaveLength(2);
  expect(runs()).toBe(1);
});
