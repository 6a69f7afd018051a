/** Readers that stop reading while large results wait for them, and what they cost the server. */
import { fileURLToPath } from "node:url";
import {
  disposeAll,
  openSession,
  type RawSession,
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
  const file = fileURLToPath(new URL("slow-readers-server.ts", import.meta.url));
  const server = await spawnProcess("node", ["--expose-gc", file], {
    readyPattern: /^ready (\d+)$/,
  });
  const url = `http://127.0.0.1:${server.ready?.[1]}/mcp`;
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
