/** Many requests in one turn of the loop: limits count what is about to be, refusals arrive whole. */
import { request } from "node:http";
import { disposeAll, openEventStream, openSession, verifies } from "@holdfast/testkit";
import { benches } from "@holdfast/testkit/face-acceptance";
import { afterEach, expect, test } from "vitest";
import { nodeFace } from "./node-face.ts";

afterEach(disposeAll);

test(`${verifies("P-02", "D-03")}no more viewports and calls are opened at once than one by one`, async () => {
  // With a log that answers in a later turn, so that all of them wait at the same time.
  const bench = await benches(
    nodeFace,
    "sqlite",
  )({
    options: { viewportsMax: 6, callsPerSessionMax: 4 },
  });
  const sessions = [await openSession(bench.url), await openSession(bench.url)];
  for (const { initializeStream } of sessions) await initializeStream.ended;
  const streams = await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: 8 }, (_, id) => session.call("t", {}, { id })),
    ),
  );
  const statuses = streams.map(({ status }) => status).toSorted();
  expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  // 429 of a session at its limit, 503 of the server at its own.
  expect(new Set(statuses)).toEqual(new Set([200, 429, 503]));
  const fromOne = streams.slice(0, 8).filter(({ status }) => status === 200);
  expect(fromOne.length).toBeLessThanOrEqual(4);
});

test(`${verifies("D-03", "c060")}a refusal arrives, also at a client that closes and is still sending`, async () => {
  const bench = await benches(nodeFace, "memory")({});
  const probe = await openEventStream({ url: bench.url, method: "GET" });
  expect(probe.status).toBe(406);
  const body = Buffer.alloc(5_000_000, " ");
  for (let i = 0; i < 20; i += 1) {
    const status = await new Promise((resolve, reject) => {
      const sent = request(bench.url, { method: "POST", agent: false }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      });
      sent.on("error", reject);
      sent.setHeader("accept", "application/json, text/event-stream");
      sent.setHeader("content-type", "text/plain");
      sent.end(body);
    });
    expect(status).toBe(415);
  }
});
