import { setImmediate as turn } from "node:timers/promises";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { gatedFetch } from "./gated-fetch.ts";

const chunks = 100;

function server(contentType: string) {
  let pulled = 0;
  const body = () =>
    new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (pulled === chunks) return controller.close();
          pulled += 1;
          controller.enqueue(new TextEncoder().encode(`:${pulled}\n`));
        },
      },
      { highWaterMark: 0 },
    );
  const headers = { "content-type": contentType, "mcp-session-id": "s" };
  return {
    fetch: async () => new Response(body(), { status: 200, headers }),
    pulled: () => pulled,
  };
}

test(`${verifies("E-09")}an event stream waits for the host, and loses nothing`, async () => {
  const { fetch, pulled } = server("text/event-stream; charset=utf-8");
  const held = Promise.withResolvers<void>();
  const response = await gatedFetch(() => held.promise, fetch)("http://127.0.0.1/");
  expect(response.headers.get("mcp-session-id")).toBe("s");
  const text = response.text();
  for (let i = 0; i < 20; i++) await turn();
  expect(pulled()).toBeLessThanOrEqual(3);
  held.resolve();
  expect(await text).toBe(Array.from({ length: chunks }, (_, i) => `:${i + 1}\n`).join(""));
});

test("what is no event stream, or has no body, is as it was", async () => {
  const never = () => new Promise<void>(() => {});
  const { fetch } = server("application/json");
  const answer = await gatedFetch(never, fetch)("http://127.0.0.1/");
  expect((await answer.text()).length).toBeGreaterThan(chunks);
  const headers = { "content-type": "text/event-stream" };
  const empty = async () => new Response(null, { status: 204, headers });
  expect((await gatedFetch(never, empty)("http://127.0.0.1/")).status).toBe(204);
});

test("a stream that breaks breaks, and one that is let go is let go", async () => {
  const open = async () => {};
  const headers = { "content-type": "text/event-stream" };
  const broken = async () =>
    new Response(
      new ReadableStream({
        pull: () => {
          throw new Error("reset");
        },
      }),
      { headers },
    );
  await expect((await gatedFetch(open, broken)("http://127.0.0.1/")).text()).rejects.toThrow(
    "reset",
  );
  const cancelled = Promise.withResolvers<void>();
  const endless = async () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(1)),
        cancel: () => cancelled.resolve(),
      }),
      { headers },
    );
  const { body } = await gatedFetch(open, endless)("http://127.0.0.1/");
  await body?.cancel();
  await cancelled.promise;
});
