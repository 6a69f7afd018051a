/** A server that cannot be had at the start: connect says why, and what to do. */
import { createServer, type Server, type Socket } from "node:net";
import { ResumableClientTransport } from "@holdfast/client";
import { disposeAll, onDispose, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { rawServer } from "./raw-server.ts";
import { initializeParams } from "./world.ts";

afterEach(disposeAll);

const reconnect = { initialDelayMs: 1, maxDelayMs: 2, maxAttempts: 2 };

async function listen(onSocket: (socket: Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0 };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** @returns what connect fails with, and what was told while it was tried */
async function failure(url: string): Promise<{ error: Error & object; told: Error[] }> {
  const transport = new ResumableClientTransport(url, { reconnect });
  onDispose(() => transport.close());
  const told: Error[] = [];
  transport.onerror = (error) => told.push(error);
  await transport.start();
  const ask = { jsonrpc: "2.0", id: 0, method: "initialize", params: initializeParams };
  const error: unknown = await transport.send(ask).then(
    () => new Error("it was sent"),
    (reason) => reason,
  );
  return { error: error as Error, told };
}

const cases: readonly (readonly [string, () => Promise<string>, RegExp, RegExp])[] = [
  [
    "nothing listens",
    async () => `http://127.0.0.1:${await closedPort()}/mcp?key=secret`,
    /^http:\/\/127\.0\.0\.1:\d+\/mcp could not be reached: nothing listens there \(ECONNREFUSED\)\.$/,
    /Start the server/,
  ],
  [
    "a name that is none",
    async () => "http://nowhere.invalid/mcp",
    /its name is not known \((ENOTFOUND|EAI_AGAIN)\)/,
    /DNS/,
  ],
  [
    "https to a server without TLS",
    async () => {
      // As servers of HTTP do with what they do not understand.
      const { port } = await listen((socket) =>
        socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
      );
      return `https://127.0.0.1:${port}/mcp`;
    },
    /no TLS connection came about/,
    /Use http:\/\//,
  ],
  [
    "no HTTP",
    async () => {
      const { port } = await listen((socket) => {
        socket.once("data", () => socket.end("SSH-2.0-x\r\n\r\n"));
      });
      return `http://127.0.0.1:${port}/mcp`;
    },
    /what answers there speaks no HTTP/,
    /Correct the port/,
  ],
  [
    "cut at once",
    async () => `http://127.0.0.1:${(await listen((socket) => socket.destroy())).port}/mcp`,
    /cut before an answer came/,
    /proxies/,
  ],
];

test.each(cases)(`${verifies("K-09")}%s: told at once, and why`, async (_what, serve, why, fix) => {
  const { error, told } = await failure(await serve());
  expect(error).toMatchObject({ code: "ERR_NOT_RUN", hint: expect.stringMatching(fix) });
  expect(error.message).toMatch(why);
  const [first, ...more] = told;
  expect(first?.message).toMatch(/could not be reached: .* It is tried again\.$/);
  expect(more).toEqual([]);
});

test("a web page in its place: what came is named", async () => {
  const server = await rawServer((request) =>
    request.respond(200, "<html>", { "content-type": "text/html" }),
  );
  const { error } = await failure(server.url);
  expect(error.message).toMatch(/answered 200 with text\/html, which is no MCP\.$/);
  expect(error).toMatchObject({ hint: expect.stringContaining("path of the address") });
});
