/** Each example, started by its command and killed: the session goes on in the next process. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { disposeAll, onDispose, openSession, spawnProcess, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

test.each(["node-http", "express", "fastify", "hono"])(
  `${verifies("S-07", "R-01", "E-04")}examples/servers/%s.ts keeps a call over a cut, and its session over kill -9`,
  async (name) => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-example-"));
    onDispose(() => rm(directory, { recursive: true, force: true }));
    const start = async (port: string) => {
      const file = join(import.meta.dirname, `${name}.ts`);
      const spawned = await spawnProcess(process.execPath, [file], {
        env: { PORT: port, DB: join(directory, "sessions.db") },
        readyPattern: /MCP on (\S+)/,
      });
      return { spawned, url: spawned.ready?.[1] as string };
    };
    const first = await start("0");
    const session = await openSession(first.url);
    const stream = await session.call("count", { to: 3 }, { progressToken: "p" });
    await stream.nextMessage();
    const cursor = stream.lastEventId as string;
    stream.destroy("rst");
    const resumed = await session.get({ lastEventId: cursor });
    const text = { content: [{ type: "text", text: "Counted to 3." }] };
    expect((await resumed.response()).result).toEqual(text);
    expect(resumed.messages.map(({ params }) => params?.["progress"])).toEqual([2, 3, undefined]);

    await first.spawned.kill("SIGKILL");
    await start(new URL(first.url).port);
    const again = await session.call("count", { to: 1 });
    expect((await again.response()).result).toEqual({
      content: [{ type: "text", text: "Counted to 1." }],
    });
  },
);
