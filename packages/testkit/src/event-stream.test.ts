import type { ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { scriptedServer } from "../test/scripted-server.ts";
import { disposeAll } from "./disposal.ts";
import { openEventStream } from "./event-stream.ts";

afterEach(disposeAll);

const sse = (response: ServerResponse, text: string) => {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(text);
};

test("items come in order, and each way of reading goes on where the last one ended", async () => {
  const { url } = await scriptedServer((_, response) => {
    sse(response, 'id: a.0\ndata: \n\n: at a.0\n\nid: a.1\ndata: {"method":"m"}\n\n');
    sse(response, 'event: close\ndata: {}\n\nid: a.2\ndata: {"id":7,"result":{"ok":true}}\n\n');
    response.end(": bye\n\n");
  });
  const stream = await openEventStream({ url });
  expect(stream.isEventStream).toBe(true);
  expect(await stream.next()).toMatchObject({ kind: "event", id: "a.0", data: "" });
  expect(await stream.nextComment()).toBe("at a.0");
  expect(await stream.nextMessage()).toEqual({ method: "m" });
  expect(await stream.response(7)).toEqual({ id: 7, result: { ok: true } });
  expect(await stream.rest()).toEqual([{ kind: "comment", text: "bye" }]);
  expect(await stream.next()).toBeUndefined();
  expect(stream.lastEventId).toBe("a.2");
  expect(stream.events.map(({ event }) => event)).toEqual([
    undefined,
    undefined,
    "close",
    undefined,
  ]);
  expect(stream.messages).toHaveLength(2);
  expect((await stream.ended).how).toBe("end");
});

test("the views grow with the stream", async () => {
  const responses: ServerResponse[] = [];
  const { url } = await scriptedServer((_, response) => {
    responses.push(response);
    sse(response, ": open\n\n");
  });
  const stream = await openEventStream({ url });
  await stream.nextComment();
  expect(stream.lastEventId).toBeUndefined();
  sse(responses[0]!, "id: b.1\n\n");
  expect(await stream.next()).toEqual({ kind: "id", id: "b.1" });
  expect(stream.lastEventId).toBe("b.1");
});

test("a wait that the end of the stream breaks off says how it ended and what was seen", async () => {
  const { url } = await scriptedServer((_, response) => {
    sse(response, "id: c.1\ndata: {}\n\n");
    response.write("", () => setImmediate(() => response.socket?.resetAndDestroy()));
  });
  const stream = await openEventStream({ url });
  await expect(stream.response()).rejects.toThrow(
    /ended \(ECONNRESET\) before the message.*"c\.1"/,
  );
});

test("what is no event stream shows its body and no item", async () => {
  const { url } = await scriptedServer((_, response) => {
    response
      .writeHead(410, { "content-type": "application/json" })
      .end('{"error":{"code":-32010}}');
  });
  const stream = await openEventStream({ url, headers: { accept: "text/event-stream" } });
  expect([stream.status, stream.isEventStream]).toEqual([410, false]);
  expect(await stream.json()).toEqual({ error: { code: -32010 } });
  expect(await stream.next()).toBeUndefined();
});

test("a paused stream holds the server back until it is read on", async () => {
  const piece = `data: ${"x".repeat(64 * 1024)}\n\n`;
  const pieces = 400;
  let written = 0;
  const held = Promise.withResolvers<void>();
  const { url } = await scriptedServer(async (_, response) => {
    sse(response, ": open\n\n");
    for (; written < pieces; written += 1) {
      if (!response.write(piece)) {
        held.resolve();
        await new Promise((resolve) => response.once("drain", resolve));
      }
    }
    response.end();
  });
  const stream = await openEventStream({ url });
  stream.pause();
  await held.promise;
  expect(stream.events.length).toBeLessThan(pieces);
  stream.resume();
  expect((await stream.rest()).filter(({ kind }) => kind === "event")).toHaveLength(pieces);
});
