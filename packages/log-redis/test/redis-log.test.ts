import { acceptEventLog } from "@holdfast/log/acceptance";
import { sharedRedis } from "@holdfast/testkit";
import { describe } from "vitest";
import { redisHarness, redisPlace } from "./places.ts";

const url = await sharedRedis();

describe.skipIf(url === undefined)("redis", () => {
  acceptEventLog(
    "redis",
    redisHarness(() => redisPlace(url ?? "")),
  );
});
