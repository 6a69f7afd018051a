/** A server that is out of reach, and messages between nodes that are lost: the suite's chapters. */
import { lostWakes, unreachable } from "@holdfast/log/acceptance";
import { disposeAll, sharedRedis } from "@holdfast/testkit";
import { afterEach, describe } from "vitest";
import { proxiedPlace, redisHarness } from "./places.ts";

afterEach(disposeAll);

const url = await sharedRedis();

describe.skipIf(url === undefined)("redis by a way that fails", () => {
  const harness = redisHarness(() => proxiedPlace(url ?? ""));
  unreachable(harness, async ({ proxies }, log) => {
    const way = proxies.get(log);
    way?.cut();
    return async () => way?.heal();
  });
  lostWakes(harness, async ({ proxies }) => {
    for (const way of proxies.values()) way.mute(true);
    return async () => {
      for (const way of proxies.values()) way.mute(false);
    };
  });
});
