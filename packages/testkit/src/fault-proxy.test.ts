import { once } from "node:events";
import { Agent, get, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { scriptedServer } from "../test/scripted-server.ts";
import { disposeAll } from "./disposal.ts";
import { openEventStream } from "./event-stream.ts";
import { faultProxy } from "./fault-proxy.ts";
import { openExchange, rawRequest } from "./http-exchange.ts";

afterEach(async () => {
  vi.useRealTimers();
  await disposeAll();
});

/** Sockets go on by themselves, time by `vi.advanceTimersByTime`. */
const holdTime = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });

/** Streams at `/stream`, echoes the request's body elsewhere. */
async function streamingServer() {
  const streams: ServerResponse[] = [];
  const server = await scriptedServer(async (request, response) => {
    if (request.url === "/stream") {
      streams.push(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 0\n\n");
      return;
    }
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    response.end(Buffer.concat(body));
  });
  const closed = (at: number) => once(streams[at]!, "close");
  return { ...server, streams, closed };
}

async function opened(rules = {}) {
  const server = await streamingServer();
  const proxy = await faultProxy({ target: server, rules });
  const url = proxy.url("/stream");
  const stream = await openEventStream({ url });
  await stream.nextEvent();
  return { server, proxy, url, stream };
}

test("without rules bytes pass unchanged both ways, large ones too", async () => {
  const server = await streamingServer();
  const proxy = await faultProxy({ target: server });
  const body = Buffer.alloc(3_000_000, "0123456789");
  const response = await rawRequest({ url: proxy.url("/echo"), method: "POST", body });
  expect(response.body.equals(body)).toBe(true);
  expect(proxy.counts).toEqual({ connections: 1, requests: 1, refusals: 0, cuts: 0 });
});

test.each([
  ["rst", "reset"],
  ["fin", "truncated"],
] as const)("%s: the client sees %s, and the server its end", async (manner, how) => {
  const { server, proxy, stream } = await opened();
  const closed = server.closed(0);
  const cut = proxy.nextCut();
  expect(proxy.cutAll(manner)).toBe(1);
  expect((await stream.ended).how).toBe(how);
  await closed;
  expect(await cut).toMatchObject({ manner, cause: "told", isResponseCut: true, connection: 1 });
  expect(proxy.cutAll(manner)).toBe(0);
  expect(proxy.counts.cuts).toBe(1);
});

test("half-close: the client reads an end, the server notices nothing", async () => {
  const { server, proxy, url, stream } = await opened();
  proxy.cutAll("half-close");
  expect((await stream.ended).how).toBe("truncated");
  // A whole exchange later the first response is still open at the server.
  const second = await openEventStream({ url });
  await second.nextEvent();
  expect(server.streams[0]?.destroyed).toBe(false);
  expect(server.streams[0]?.socket?.destroyed).toBe(false);
});

test("idle: a silent response is cut, and every byte puts it off", async () => {
  holdTime();
  const { server, proxy, stream } = await opened({ idleMs: 1000 });
  const cut = proxy.nextCut();
  for (let n = 1; n <= 3; n += 1) {
    vi.advanceTimersByTime(900);
    server.streams[0]?.write(`data: ${n}\n\n`);
    await stream.nextEvent();
  }
  expect(proxy.counts.cuts).toBe(0);
  vi.advanceTimersByTime(1000);
  expect(await cut).toMatchObject({ cause: "idle", manner: "rst" });
  expect((await stream.ended).how).toBe("reset");
});

test("idle: a connection between two requests is left alone", async () => {
  const server = await streamingServer();
  const proxy = await faultProxy({ target: server, rules: { idleMs: 1000 } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const fetchOnce = async () => {
    const [response] = (await once(get(proxy.url("/echo"), { agent }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    await once(response, "end");
    return response.statusCode;
  };
  holdTime();
  expect(await fetchOnce()).toBe(200);
  vi.advanceTimersByTime(5000);
  expect(await fetchOnce()).toBe(200);
  expect(proxy.counts).toMatchObject({ connections: 1, requests: 2, cuts: 0 });
  agent.destroy();
});

test("response time: a lively response is cut all the same", async () => {
  holdTime();
  const { server, proxy, stream } = await opened({ responseMs: 1000, manner: "fin" });
  const cut = proxy.nextCut();
  for (let n = 1; n <= 9; n += 1) {
    vi.advanceTimersByTime(100);
    server.streams[0]?.write(`data: ${n}\n\n`);
    await stream.nextEvent();
  }
  vi.advanceTimersByTime(100);
  expect(await cut).toMatchObject({ cause: "response-time", manner: "fin" });
  expect((await stream.ended).how).toBe("truncated");
});

test("bytes: exactly so many of each response arrive before the reset", async () => {
  const raw = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\n0123456789"));
  });
  await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
  const { port } = raw.address() as { port: number };
  const proxy = await faultProxy({ target: { host: "127.0.0.1", port } });
  for (const bytes of [19, 20, 24, 29]) {
    proxy.setRules({ afterBytes: bytes });
    const cut = proxy.nextCut();
    const socket = connect({ host: "127.0.0.1", port: proxy.port }).on("error", () => {});
    let received = 0;
    socket.on("data", (data) => {
      received += data.length;
    });
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write("GET / HTTP/1.1\r\n\r\n");
    expect(await cut).toMatchObject({ cause: "bytes", responseBytes: bytes });
    await closed;
    expect(received).toBe(bytes);
  }
  raw.close();
});

test("bytes: a range is drawn from the seed", async () => {
  const server = await streamingServer();
  const offsets = async (seed: number) => {
    const rules = { afterBytes: { min: 10, max: 100 } };
    const proxy = await faultProxy({ target: server, seed, rules });
    const drawn: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const cut = proxy.nextCut();
      await openExchange({ url: proxy.url("/stream") }).catch(() => {});
      drawn.push((await cut).responseBytes);
    }
    return drawn;
  };
  expect(await offsets(5)).toEqual(await offsets(5));
  expect(await offsets(5)).not.toEqual(await offsets(6));
});

test("black hole: nothing passes and nobody is told, then everything arrives", async () => {
  const { server, proxy, stream } = await opened();
  proxy.blackhole(true);
  server.streams[0]?.write("data: held\n\n");
  const probe = openEventStream({ url: proxy.url("/stream") });
  const connection = await proxy.nextConnection();
  expect(connection.number).toBe(2);
  // The direct way is open: a whole exchange passes while the black hole keeps the others.
  await rawRequest({ url: server.url });
  expect(stream.events).toHaveLength(1);
  expect(server.streams).toHaveLength(1);
  proxy.heal();
  expect(await stream.nextEvent()).toMatchObject({ data: "held" });
  expect((await probe).status).toBe(200);
});

test("black hole of what is open: the server never hears of a client that left", async () => {
  const { server, proxy, url, stream } = await opened();
  proxy.blackhole(true, "open");
  stream.destroy("rst");
  const second = await openEventStream({ url });
  await second.nextEvent();
  expect(server.streams[0]?.destroyed).toBe(false);
  const closed = server.closed(0);
  proxy.blackhole(false);
  await closed;
  server.streams[1]?.write("data: 1\n\n");
  expect(await second.nextEvent()).toMatchObject({ data: "1" });
});

test("refuse: new requests are answered here, a response under way goes on", async () => {
  const { server, proxy, url, stream } = await opened();
  proxy.refuse(503, { retryAfter: 7 });
  const body = "x".repeat(1_000_000);
  const refused = await rawRequest({ url, method: "POST", body });
  expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "7" } });
  expect(refused.text).toContain("503 Service Unavailable");
  expect(server.streams).toHaveLength(1);
  server.streams[0]?.write("data: 1\n\n");
  expect(await stream.nextEvent()).toMatchObject({ data: "1" });
  proxy.heal();
  expect((await openEventStream({ url })).status).toBe(200);
  expect(proxy.counts).toEqual({ connections: 3, requests: 3, refusals: 1, cuts: 0 });
});

test("refuse for a time, with a body of one's own", async () => {
  holdTime();
  const { proxy, url } = await opened();
  proxy.refuse(429, { forMs: 1000, body: '{"error":{}}', contentType: "application/json" });
  const refused = await rawRequest({ url });
  expect([refused.status, refused.json()]).toEqual([429, { error: {} }]);
  vi.advanceTimersByTime(999);
  expect((await openExchange({ url })).status).toBe(429);
  vi.advanceTimersByTime(1);
  expect((await openExchange({ url })).status).toBe(200);
});

test("held head: it comes with the first byte of the body", async () => {
  const flushed = Promise.withResolvers<ServerResponse>();
  const server = await scriptedServer((_, response) => {
    response.flushHeaders();
    flushed.resolve(response);
  });
  const proxy = await faultProxy({ target: server, rules: { isHeadHeld: true } });
  let hasHead = false;
  const exchange = openExchange({ url: proxy.url("/") }).then((answer) => {
    hasHead = true;
    return answer;
  });
  const response = await flushed.promise;
  await rawRequest({ url: proxy.url("/"), method: "HEAD" }).catch(() => {});
  expect(hasHead).toBe(false);
  response.end("late");
  expect(await (await exchange).text()).toBe("late");
});

test("delay: bytes come later, whole and in order", async () => {
  const server = await streamingServer();
  const proxy = await faultProxy({ target: server, rules: { delayMs: 40 } });
  const body = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251));
  const startMs = performance.now();
  const answer = rawRequest({ url: proxy.url("/echo"), method: "POST", body });
  await proxy.nextRequest();
  proxy.setRules({ delayMs: 1 });
  expect((await answer).body.equals(body)).toBe(true);
  expect(performance.now() - startMs).toBeGreaterThan(35);
});

test("a server that is not there is a reset, and a close of the proxy ends all", async () => {
  const { stream, proxy } = await opened();
  await proxy.close();
  expect((await stream.ended).how).not.toBe("end");
  const server = await streamingServer();
  await new Promise((resolve) => server.server.close(resolve));
  const orphan = await faultProxy({ target: server });
  await expect(openExchange({ url: orphan.url("/") })).rejects.toMatchObject({
    end: { how: "reset" },
  });
});
