/** Readers that stop reading while large results wait for them, and what they cost the server. */
import { fileURLToPath } from "node:url";
import { parseEventId } from "@holdfast/contract";
import {
  disposeAll,
  openSession,
  type RawSession,
  type RpcMessage,
  type SpawnedProcess,
  spawnProcess,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

const mebibyte = 2 ** 20;
const readers = 20;
const resultChars = 8 * mebibyte;
const costBytesMax = 100 * mebibyte;

test(`${verifies("E-09")}20 readers that stop reading cost less than 100 MB`, async () => {
  const { server, url } = await startServer();
  const sessions = await Promise.all(Array.from({ length: readers }, () => openSession(url)));
  // One that reads, so that what a large result needs once is there before.
  await result(await call(sessions[0] as RawSession));
  const before = await usedBytes(server, "before", Number.MAX_SAFE_INTEGER);

  const streams = await Promise.all(
    sessions.map(async (session) => {
      const stream = await call(session);
      stream.pause();
      return stream;
    }),
  );
  const during = await usedBytes(server, "during", before + costBytesMax);
  expect(during - before).toBeLessThan(costBytesMax);

  for (const stream of streams) {
    stream.resume();
    expect(await result(stream)).toBe(resultChars);
  }
});

test(`${verifies("E-09", "R-03", "c039")}200,000 events pass a reader that never reads`, async () => {
  const { server, url } = await startServer();
  const [session, healthy] = [await openSession(url), await openSession(url)];
  await (await session.call("flood", { events: 20_000 })).response();
  const stuck = await session.get();
  stuck.pause();
  const before = await usedBytes(server, "before", Number.MAX_SAFE_INTEGER);
  const flood = await session.call("flood", { events: 200_000 });
  let answered = 0;
  const isOver = flood.response().then(() => true);
  while (!(await Promise.race([isOver, healthy.request("ping").then(() => false)]))) answered += 1;
  expect(answered).toBeGreaterThan(100);
  const after = await usedBytes(server, "after", before + costBytesMax);
  expect(after - before).toBeLessThan(costBytesMax);

  // What it had of them was whole and in order; of the rest it is told how much is gone.
  stuck.resume();
  await stuck.rest();
  const seen = stuck.events.flatMap(({ id }) => parseEventId(id ?? "")?.position ?? []);
  const first = seen[0] as number;
  expect(seen).toEqual(seen.map((_, index) => first + index));
  const refused = await session.get({ lastEventId: stuck.lastEventId as string });
  expect(refused.status).toBe(410);
  const { error } = (await refused.json()) as RpcMessage;
  const { lostEvents, oldestEventId } = error?.data ?? {};
  const resumed = await session.get({ lastEventId: String(oldestEventId) });
  const kept = 220_000 - (seen.at(-1) as number) - Number(lostEvents);
  expect(kept).toBe(10_000);
  for (let left = kept; left > 0; left -= 1) await resumed.nextMessage();
  expect(parseEventId(resumed.lastEventId ?? "")?.position).toBe(220_000);
}, 120_000);

async function startServer() {
  const file = fileURLToPath(new URL("slow-readers-server.ts", import.meta.url));
  const server = await spawnProcess("node", ["--expose-gc", file], {
    readyPattern: /^ready (\d+)$/,
  });
  return { server, url: `http://127.0.0.1:${server.ready?.[1]}/mcp` };
}

function call(session: RawSession) {
  return session.call("large", { chars: resultChars });
}

async function result(stream: Awaited<ReturnType<typeof call>>): Promise<number> {
  const { result = {} } = await stream.response();
  const [content] = result["content"] as { readonly text: string }[];
  return content?.text.length ?? 0;
}

/** Memory of the server at rest: below the bound, or as low as it comes. */
async function usedBytes(server: SpawnedProcess, name: string, bound: number): Promise<number> {
  server.write(`${name} ${bound}\n`);
  const [, used] = await server.line(new RegExp(`^${name} (\\d+)$`));
  return Number(used);
}
