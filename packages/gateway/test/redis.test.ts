/** Two gateways on one Redis: either serves any request of any session. */
import { randomBytes } from "node:crypto";
import {
  disposeAll,
  requireService,
  sharedRedis,
  startRedis,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { holdfast, scratchDirectory, startGateway } from "./gateway-process.ts";
import { playTwoGateways } from "./two-gateways.ts";

afterEach(disposeAll);

const server = await sharedRedis();
const isStartable = requireService("redis-server");

describe.skipIf(server === undefined)("--log redis://", () => {
  test(`${verifies("N-01", "D-02", "S-07", "R-01")}a call on one node arrives on the other, which goes on when the first is stopped`, async () => {
    await playTwoGateways(`${server}?prefix=test:${randomBytes(8).toString("hex")}`);
  });

  test("a server that is not there is told in a line or two, without a password", async () => {
    const log = "redis://me:secret@127.0.0.1:1";
    const process = await holdfast(["serve", "--port", "0", "--log", log, "--", "true"]);
    expect(await within(process.exited, "the exit")).toEqual({ code: 1, signal: null });
    expect(process.stderr).toMatch(/redis:\/\/127\.0\.0\.1:1 is out of reach: .*\n.+\n$/);
    expect(process.stderr + process.stdout).not.toContain("secret");
  });

  test.skipIf(!isStartable)(
    `${verifies("N-05", "c042")}a server that may drop data is told of at the start, and refused under --strict`,
    async () => {
      const redis = await startRedis(["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"]);
      const told = await startGateway(["demo", "serve", "--log", redis.url], scratchDirectory());
      expect(told.stderr + told.stdout).toContain("maxmemory-policy allkeys-lru");
      const refused = await holdfast([
        ...["serve", "--port", "0", "--log", redis.url, "--strict", "--", "true"],
      ]);
      expect(await within(refused.exited, "the exit")).toEqual({ code: 1, signal: null });
      expect(refused.stderr).toMatch(/maxmemory-policy allkeys-lru.*noeviction/);
    },
  );
});
