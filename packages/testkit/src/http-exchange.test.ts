import type { IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";
import { scriptedServer } from "../test/scripted-server.ts";
import { disposeAll } from "./disposal.ts";
import { NoResponseError, openExchange, rawRequest } from "./http-exchange.ts";

afterEach(disposeAll);

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Answers with what it was asked. */
const mirror = () =>
  scriptedServer(async (request, response) => {
    const { method, url, rawHeaders } = request;
    response.end(JSON.stringify({ method, url, rawHeaders, body: await bodyOf(request) }));
  });

test("defaults are sent, replaced and left out; a header may come twice", async () => {
  const { url, port } = await mirror();
  const { status, json } = await rawRequest({
    url: `${url}?a=b`,
    method: "PUT",
    headers: { Host: undefined, host: "example.test", "X-Two": ["1", "2"] },
    body: "é",
  });
  expect(status).toBe(200);
  expect(json()).toEqual({
    method: "PUT",
    url: "/mcp?a=b",
    rawHeaders: ["content-length", "2", "host", "example.test", "X-Two", "1", "X-Two", "2"],
    body: "é",
  });
  expect(port).toBeGreaterThan(0);
});

test("a header's bytes go out unchecked, a body without its length", async () => {
  const { url } = await mirror();
  const odd = await rawRequest({ url, headers: { "last-event-id": "\u0001\u00ff" } });
  expect(odd.json()).toMatchObject({ rawHeaders: expect.arrayContaining(["\u0001\u00ff"]) });
  const chunked = await rawRequest({ url, method: "POST", body: "abc", framing: "chunked" });
  expect(chunked.json()).toMatchObject({ body: "abc" });
  const none = await rawRequest({ url, head: "GARBAGE\r\n\r\n" });
  expect(none.status).toBe(400);
});

test("half a body leaves the request open until the rest is sent", async () => {
  const { url } = await scriptedServer(async (request, response) => {
    response.flushHeaders();
    response.end(await bodyOf(request));
  });
  const request = { url, method: "POST", body: "0123456789", bodyBytesSent: 4 };
  const exchange = await openExchange(request);
  exchange.send("456789");
  expect(await exchange.text()).toBe("0123456789");
});

test("how a response ended is told apart", async () => {
  const { url } = await scriptedServer((request, response) => {
    response.setHeader("content-length", 10);
    response.write("01234");
    if (request.headers["x-do"] === "rst") request.socket.resetAndDestroy();
    if (request.headers["x-do"] === "fin") request.socket.end();
    if (request.headers["x-do"] === "end") response.end("56789");
  });
  const end = async (how: string) =>
    (await openExchange({ url, headers: { "x-do": how } }).then(({ ended }) => ended)).how;
  expect(await end("end")).toBe("end");
  expect(await end("fin")).toBe("truncated");
  const open = await openExchange({ url });
  open.destroy();
  expect((await open.ended).how).toBe("destroyed");
  await expect(open.body()).rejects.toThrow("ended early: destroyed");
});

test("a reset is told with its code, before the head as an error", async () => {
  const { url } = await scriptedServer((request, response) => {
    if (request.url === "/late") {
      response.write("x", () => response.socket?.resetAndDestroy());
    } else request.socket.resetAndDestroy();
  });
  const late = await openExchange({ url: new URL("/late", url) });
  expect(await late.ended).toEqual({ how: "reset", code: "ECONNRESET" });
  const early = openExchange({ url });
  await expect(early).rejects.toBeInstanceOf(NoResponseError);
  await expect(early).rejects.toMatchObject({ end: { how: "reset", code: "ECONNRESET" } });
});
