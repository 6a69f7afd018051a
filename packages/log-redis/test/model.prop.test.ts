import { compareWithModel } from "@holdfast/log/acceptance";
import { sharedRedis } from "@holdfast/testkit";
import { describe } from "vitest";
import { redisHarness, redisPlace } from "./places.ts";

const url = await sharedRedis();

/** More on demand: the scripts say again what planCommit says, and this holds the two together. */
const runs = Number(process.env.HOLDFAST_MODEL_RUNS ?? 8);

describe.skipIf(url === undefined)("redis", () => {
  compareWithModel(
    "redis",
    redisHarness(() => redisPlace(url ?? "")),
    { runs },
  );
});
