/** What a closed runtime leaves behind: nothing that holds the process. */
import { fileURLToPath } from "node:url";
import { disposeAll, openSession, spawnProcess, within } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

test("a process whose runtime is closed ends by itself", async () => {
  const file = fileURLToPath(new URL("closing-server.ts", import.meta.url));
  const server = await spawnProcess("node", [file], { readyPattern: /^ready (\d+)$/ });
  const session = await openSession(`http://127.0.0.1:${server.ready?.[1]}/mcp`);
  // Every kind of viewport: idle, running, taken over, cut, and blocked by its reader.
  const idle = await session.get();
  const running = await session.call("say", { chars: 10 });
  await running.nextMessage();
  const taken = await session.get({ lastEventId: running.lastEventId as string });
  await running.ended;
  const cut = await session.call("say", { chars: 10 });
  cut.destroy("rst");
  const blocked = await session.call("say", { chars: 16 * 2 ** 20 });
  blocked.pause();
  server.write("close\n");
  for (const stream of [idle, taken]) {
    // Let go, not ended: the session goes on where the log does.
    expect((await stream.rest()).at(-1)?.kind).toBe("retry");
    expect(stream.events.filter(({ event }) => event === "close")).toEqual([]);
  }
  server.write("cut\n");
  expect(await within(server.exited, "the end of the process")).toEqual({ code: 0, signal: null });
  expect(server.stderr).toBe("");
});
