/** Logs in Redis for tests, each under a prefix of its own, and what can befall them. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { EventLog } from "@holdfast/log";
import type { LogHarness, LogPlace, SharedHarness } from "@holdfast/log/acceptance";
import { type RedisLogOptions, redisLog } from "@holdfast/log-redis";
import { spawnProcess } from "@holdfast/testkit";
import { createClient, RESP_TYPES } from "redis";
import { type RedisProxy, redisProxy } from "./redis-proxy.ts";

export interface RedisPlace extends LogPlace {
  readonly url: string;
  readonly prefix: string;
  /** The way by which a log reaches the server, where it has one of its own. */
  readonly proxies: Map<EventLog, RedisProxy>;
}

/** A lease in which no test runs out of time by itself. */
const leaseMs = 600_000;

export async function redisPlace(url: string, options: RedisLogOptions = {}): Promise<RedisPlace> {
  const prefix = `test:${randomBytes(8).toString("hex")}`;
  const remove = () => removeKeys(url, prefix);
  const log = () => redisLog(url, { prefix, timeBy: "own", ...options });
  return { url, prefix, proxies: new Map(), remove, log };
}

/** Each log reaches the server by a way of its own, which can be cut. */
export async function proxiedPlace(
  url: string,
  options: RedisLogOptions = {},
): Promise<RedisPlace> {
  const { prefix, proxies, remove } = await redisPlace(url);
  const ways: RedisProxy[] = [];
  for (let i = 0; i < 3; i += 1) ways.push(await redisProxy(url));
  const log = () => {
    const way = ways[proxies.size];
    if (way === undefined) throw new Error("a place has three ways, no more");
    const quick = { timeoutMs: 1_000, timeBy: "own", pollMs: 100 } as const;
    const one = redisLog(way.url, { prefix, ...quick, ...options });
    proxies.set(one, way);
    return one;
  };
  return { url, prefix, proxies, remove, log };
}

export type SharedRedisHarness = LogHarness<RedisPlace> & {
  readonly shared: SharedHarness<RedisPlace>;
};

export function redisHarness(place: () => Promise<RedisPlace>): SharedRedisHarness {
  return {
    place,
    resumeRuns: 100,
    copy: ({ url, prefix }) => copyKeys(url, prefix),
    spawnWriter: ({ url, prefix }) =>
      spawnProcess("node", [join(import.meta.dirname, "crash-writer.ts"), url, prefix], {
        readyPattern: /^ready$/m,
      }),
    shared: {
      leaseMs,
      pass: async ({ url, prefix }, ms, clock) => {
        clock.advance(ms);
        await ageLeases(url, prefix, ms);
      },
    },
  };
}

/** To every lease it is later by so much. */
async function ageLeases(url: string, prefix: string, ms: number): Promise<void> {
  await withClient(url, async (client) => {
    const key = `{${prefix}}:nodes`;
    for (const node of await client.zRange(key, 0, -1)) await client.zIncrBy(key, -ms, node);
  });
}

export async function withClient<Result>(
  url: string,
  work: (client: ReturnType<typeof clientOf>) => Promise<Result>,
): Promise<Result> {
  const client = clientOf(url);
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    client.destroy();
  }
}

function clientOf(url: string) {
  return createClient({ url, RESP: 2 });
}

async function keysOf(client: ReturnType<typeof clientOf>, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of client.scanIterator({ MATCH: `{${prefix}*`, COUNT: 1_000 })) {
    keys.push(...page);
  }
  return keys;
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  await withClient(url, async (client) => {
    const keys = await keysOf(client, prefix);
    // One by one: together they would lie in several slots of a cluster.
    await Promise.all(keys.map((key) => client.unlink(key)));
  });
}

/** As a backup does it: everything as it was, in a server that went on meanwhile. */
async function copyKeys(url: string, prefix: string): Promise<() => Promise<void>> {
  const copies = await withClient(url, async (client) => {
    const asBuffers = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const found: [key: string, dumped: Buffer][] = [];
    for (const key of await keysOf(client, prefix)) {
      const dumped: unknown = await asBuffers.sendCommand(["DUMP", key]);
      if (dumped instanceof Buffer) found.push([key, dumped]);
    }
    return found;
  });
  return async () => {
    await removeKeys(url, prefix);
    await withClient(url, async (client) => {
      for (const [key, dumped] of copies) await client.sendCommand(["RESTORE", key, "0", dumped]);
    });
  };
}
