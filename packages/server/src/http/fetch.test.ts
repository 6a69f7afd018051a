/** The body of a fetch response, read and not read. */
import { verifies } from "@holdfast/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fetchReply } from "./fetch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const large = "x".repeat(200_000);

async function begin(signal?: AbortSignal) {
  const reply = fetchReply(new Request("http://127.0.0.1/mcp", signal ? { signal } : {}));
  const sink = reply.stream({ "content-type": "text/event-stream" });
  return { sink, response: await reply.response };
}

test("a body that is read is whole, however long that took before its end", async () => {
  const { sink, response } = await begin();
  expect(sink.write("a")).toBe(true);
  expect(sink.write(large)).toBe(false);
  expect(sink.isDrained()).toBe(false);
  const text = response.text();
  await sink.drained();
  sink.end(1_000);
  expect(await text).toBe(`a${large}`);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sink.isDrained()).toBe(true);
});

test(`${verifies("R-02", "E-09")}an ended body that nobody takes is let go soon`, async () => {
  const { sink, response } = await begin();
  sink.write(large);
  let isClosed = false;
  sink.onClose(() => {
    isClosed = true;
  });
  sink.end(1_000);
  expect(isClosed).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(response.text()).rejects.toThrow("The connection was closed.");
});

test("the end of a body waits for all of it to be taken, and leaves no timer", async () => {
  const { sink, response } = await begin();
  sink.write(large);
  sink.write(large);
  sink.end(5_000);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(await response.text()).toBe(large + large);
  expect(vi.getTimerCount()).toBe(0);
});

test(`${verifies("E-09")}a client that has gone is told at once, also when it had gone before`, async () => {
  for (const when of ["before", "after"] as const) {
    const gone = new AbortController();
    if (when === "before") gone.abort();
    const { sink } = await begin(gone.signal);
    let closes = 0;
    sink.onClose(() => {
      closes += 1;
    });
    gone.abort();
    expect(closes).toBe(1);
    expect(sink.write("x")).toBe(false);
    await sink.drained();
  }
});
