import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { scriptedServer } from "../test/scripted-server.ts";
import { disposeAll } from "./disposal.ts";
import { openEventStream } from "./event-stream.ts";
import { startHaproxy, startNginx } from "./real-proxies.ts";
import { findBinary, requireService } from "./services.ts";

afterEach(disposeAll);

describe.each([
  { name: "haproxy", start: startHaproxy },
  { name: "nginx", start: startNginx },
])("$name", ({ name, start }) => {
  test.skipIf(!requireService(name))("cuts a response that is silent for too long", async () => {
    const responses: ServerResponse[] = [];
    const target = await scriptedServer((_, response) => {
      responses.push(response);
      const head = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
      response.writeHead(200, head).write("data: 1\n\n");
    });
    const proxy = await start({ target, idleTimeoutMs: 500 });
    const stream = await openEventStream({ url: proxy.url("/mcp") });
    expect(await stream.nextEvent()).toMatchObject({ data: "1" });
    const closed = new Promise((resolve) => responses[0]?.on("close", resolve));
    expect(["truncated", "reset", "end"]).toContain((await stream.ended).how);
    await closed;
    await proxy.close();
    expect((await proxy.process.exited).signal ?? "exit").toMatch(/exit|SIGTERM/);
  });
});

test("a missing program skips its tests, or fails where none may be skipped", () => {
  vi.stubEnv("HOLDFAST_REQUIRE_SERVICES", "");
  expect(findBinary("sh")).toMatch(/\/sh$/);
  expect(requireService("no-such-program")).toBe(false);
  vi.stubEnv("HOLDFAST_REQUIRE_SERVICES", "1");
  expect(() => requireService("no-such-program")).toThrow('"no-such-program" is not installed');
  vi.unstubAllEnvs();
});
