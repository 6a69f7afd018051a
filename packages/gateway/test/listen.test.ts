import {
  disposeAll,
  NoResponseError,
  onDispose,
  openExchange,
  patienceMs,
  type RawRequest,
  type RawResponse,
  rawRequest,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import {
  type Handler,
  type Listener,
  listen,
  listenOrFree,
  type RequestLimits,
} from "../src/listen.ts";

afterEach(disposeAll);

const requests: RequestLimits = { headersMs: 10_000, wholeRequestMs: 60_000, keepAliveMs: 65_000 };
const anywhere = { host: "127.0.0.1", port: 0, requests };
const hello: Handler = (_request, response) => void response.end("hello");

async function start(handler: Handler, limits: Partial<RequestLimits> = {}): Promise<Listener> {
  const settings = { ...anywhere, requests: { ...requests, ...limits } };
  const listener = await listen(settings, handler);
  onDispose(() => listener.close(0));
  return listener;
}

function expectRefusal(response: RawResponse, status: number, message: RegExp): void {
  expect(response.status).toBe(status);
  expect(response.headers["content-type"]).toBe("application/json");
  expect(response.headers.connection).toBe("close");
  expect(response.json()).toMatchObject({
    jsonrpc: "2.0",
    id: null,
    error: {
      code: -32000,
      message: expect.stringMatching(message),
      data: { type: "unreadable-request", notRun: true },
    },
  });
}

test.each<[string, Omit<RawRequest, "url">, number, RegExp]>([
  ["no HTTP at all", { head: "hello\r\n\r\n" }, 400, /no HTTP request/],
  ["a bare TLS hello", { head: Buffer.from("16030100", "hex") }, 400, /no HTTP request/],
  [
    "a bad length",
    { head: "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n" },
    400,
    /no HTTP request/,
  ],
  [
    "two ways to say the length",
    { head: "POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n" },
    400,
    /no HTTP request/,
  ],
  ["headers of 20 KB", { headers: { "x-long": "x".repeat(20_000) } }, 431, /too large/],
])(
  `${verifies("D-03")}%s is refused with JSON that says so`,
  async (_what, request, status, message) => {
    const { origin } = await start(hello);
    expectRefusal(await rawRequest({ url: origin, ...request }), status, message);
  },
);

test(`${verifies("D-03")}headers that do not come are not waited for`, async () => {
  const { origin } = await start(hello, { headersMs: 50, wholeRequestMs: 60 });
  const response = await rawRequest({ url: origin, head: "GET / HTTP/1.1\r\nhost: x\r\n" });
  expectRefusal(response, 408, /in time/);
});

test(`${verifies("D-03", "c060")}a body that does not come is not waited for`, async () => {
  const { origin } = await start((request) => void request.resume(), {
    headersMs: 50,
    wholeRequestMs: 60,
  });
  const body = { method: "POST", body: "0123456789", bodyBytesSent: 3 };
  expectRefusal(await rawRequest({ url: origin, ...body }), 408, /in time/);
});

test(`${verifies("c032")}a response may take longer than any limit on a request`, async () => {
  const { origin } = await start(
    (_request, response) => {
      response.write("begun ");
      setTimeout(() => response.end("and done"), 300);
    },
    { headersMs: 20, wholeRequestMs: 30, keepAliveMs: 40 },
  );
  expect((await rawRequest({ url: origin })).text).toBe("begun and done");
});

test("nothing is written into a response that has begun", async () => {
  const { origin } = await start((_request, response) => void response.write("begun"));
  // HTTP/1.0: the body is what comes until the end, so that nothing can hide behind its framing.
  const exchange = await openExchange({ url: origin, head: "GET / HTTP/1.0\r\n\r\n" });
  exchange.send("nonsense\r\n\r\n");
  await within(exchange.ended, "the end of the connection");
  expect(Buffer.concat(exchange.chunks).toString()).toBe("begun");
});

test("a request without Host reaches the handler", async () => {
  const { origin } = await start(hello);
  const response = await rawRequest({
    url: origin,
    headers: { host: undefined, connection: "close" },
    head: "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
  });
  expect(response.text).toBe("hello");
});

test("a port in use is an error with a fix", async () => {
  const { port } = await start(hello);
  await expect(listen({ ...anywhere, port }, hello)).rejects.toMatchObject({
    message: `Port ${port} on 127.0.0.1 is in use.`,
    hint: expect.stringContaining("--port 0"),
  });
  await expect(listen({ ...anywhere, host: "203.0.113.1" }, hello)).rejects.toMatchObject({
    message: expect.stringContaining("listen on 203.0.113.1"),
    hint: expect.stringContaining("--host 127.0.0.1"),
  });
});

test("where the port is in use, a free one can be had, and which one was meant is said", async () => {
  const { port } = await start(hello);
  const { listener, insteadOf } = await listenOrFree({ ...anywhere, port }, hello);
  onDispose(() => listener.close(0));
  expect(insteadOf).toBe(port);
  expect(listener.port).not.toBe(port);
  expect((await rawRequest({ url: listener.origin })).text).toBe("hello");
  const free = await listenOrFree(anywhere, hello);
  onDispose(() => free.listener.close(0));
  expect(free).not.toHaveProperty("insteadOf");
  const elsewhere = { ...anywhere, host: "203.0.113.1" };
  await expect(listenOrFree(elsewhere, hello)).rejects.toThrow("listen on 203.0.113.1");
});

test("a listener that drains ends each connection with its next response", async () => {
  const listener = await start(hello);
  const headers = { connection: "keep-alive" };
  expect((await rawRequest({ url: listener.origin, headers })).headers.connection).toBe(
    "keep-alive",
  );
  listener.drain();
  expect((await rawRequest({ url: listener.origin, headers })).headers.connection).toBe("close");
});

test("close waits for open responses, as long as it is told to", async () => {
  const open: (() => void)[] = [];
  const listener = await start((_request, response) => {
    response.write("begun");
    open.push(() => void response.end(" done"));
  });
  const exchange = await openExchange({ url: listener.origin });
  const closed = listener.close(patienceMs);
  open[0]?.();
  expect(await exchange.text()).toBe("begun done");
  await within(closed, "the listener to close", patienceMs / 2);
});

test("stop takes no new connection and lets open responses end; close cuts them", async () => {
  const open: (() => void)[] = [];
  const listener = await start((_request, response) => {
    response.write("begun");
    open.push(() => void response.end(" done"));
  });
  const first = await openExchange({ url: listener.origin });
  const second = await openExchange({ url: listener.origin });
  listener.stop();
  await expect(rawRequest({ url: listener.origin })).rejects.toThrow(NoResponseError);
  open[0]?.();
  expect(await first.text()).toBe("begun done");
  await within(listener.close(0), "the listener to close");
  expect((await second.ended).how).not.toBe("end");
});
