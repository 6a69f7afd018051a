/** A server in cluster mode refuses a script that touches two slots, as a cluster of many would. */
import { compareWithModel } from "@holdfast/log/acceptance";
import { requireService, startRedis } from "@holdfast/testkit";
import { describe } from "vitest";
import { redisHarness, redisPlace, withClient } from "./places.ts";

const isThere = requireService("redis-server");

let url: string | undefined;

async function clusterUrl(): Promise<string> {
  if (url !== undefined) return url;
  const server = await startRedis(["--cluster-enabled", "yes"]);
  await withClient(server.url, async (client) => {
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    // It serves its slots as soon as it has noticed that it has them all.
    while (!(await client.sendCommand<string>(["CLUSTER", "INFO"])).includes("cluster_state:ok"));
  });
  url = server.url;
  return url;
}

describe.skipIf(!isThere)("redis", () => {
  const harness = redisHarness(async () => redisPlace(await clusterUrl()));
  compareWithModel("redis in cluster mode", harness, { runs: 4 });
});
