/**
 * Three gateways on one PostgreSQL behind a balancer that takes them in turns, while nodes are killed,
 * stopped, frozen and cut off from the store. `HOLDFAST_CLUSTER_S=60` runs it for longer.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  disposeAll,
  requirePostgres,
  requireService,
  type SeededRandom,
  seededRandom,
  startPostgres,
  testSeed,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type Crowd, playClient, readToTheEnd } from "./cluster/clients.ts";
import { type Cluster, startCluster } from "./cluster/cluster.ts";
import { scratchDirectory } from "./gateway-process.ts";
import { judgeHistory } from "./soak/checker.ts";

afterEach(disposeAll);

const server = fileURLToPath(new URL("./soak/server.ts", import.meta.url));
const seconds = Number(process.env.HOLDFAST_CLUSTER_S ?? 12);
const clients = seconds > 15 ? 20 : 6;
const canRun = requirePostgres() && requireService("haproxy");

type Fault = (cluster: Cluster, random: SeededRandom) => Promise<void>;

const faults: readonly Fault[] = [
  (cluster, random) => cluster.replace(random.pick(cluster.nodes), "SIGKILL"),
  (cluster, random) => cluster.replace(random.pick(cluster.nodes), "SIGTERM"),
  (cluster, random) => cluster.freeze(random.pick(cluster.nodes)),
  (cluster, random) => cluster.cutOff(random.pick(cluster.nodes)),
];

test.skipIf(!canRun)(
  `${verifies("N-01", "N-02", "N-03", "N-04", "c019")}nodes are killed, stopped, frozen, cut off: nothing lost unseen, nothing twice, no 404, no call without an end`,
  async () => {
    const random = seededRandom(testSeed("the cluster"));
    const { cluster, effects } = await clusterOnPostgres(2_000);
    const crowd = crowdOf(cluster, random);
    const playing = Promise.all(Array.from({ length: clients }, () => playClient(crowd)));
    const untilMs = performance.now() + seconds * 1_000;
    for (const fault of random.shuffle([...faults])) await fault(cluster, random);
    while (performance.now() < untilMs) await random.pick(faults)(cluster, random);
    await end(crowd, playing);
    expect(judgeHistory(crowd.history, effects())).toEqual([]);
    expect(effects().length).toBeGreaterThan(clients);
  },
  120_000 + 8 * seconds * 1_000,
);

test.skipIf(!canRun)(
  `${verifies("N-04", "D-02", "c019")}a rolling deploy: every call has its result`,
  async () => {
    const random = seededRandom(testSeed("the deploy"));
    // No node dies: on a machine that is busy, a short lease would say so of one that is slow.
    const { cluster, effects } = await clusterOnPostgres(10_000);
    const crowd = crowdOf(cluster, random);
    const playing = Promise.all(Array.from({ length: clients }, () => playClient(crowd)));
    for (const node of cluster.nodes) {
      await delay(500);
      await cluster.replace(node, "SIGTERM");
    }
    await end(crowd, playing);
    expect(judgeHistory(crowd.history, effects())).toEqual([]);
    const unknown = crowd.history.filter(
      (fact) => fact.kind === "event" && fact.text.includes('"code":-32011'),
    );
    expect(unknown).toEqual([]);
  },
  180_000,
);

function crowdOf({ url }: Cluster, random: SeededRandom): Crowd {
  return { url, random, history: [], readers: [], isOver: false, posts: 0 };
}

async function end(crowd: Crowd, playing: Promise<unknown>): Promise<void> {
  crowd.isOver = true;
  await playing;
  await readToTheEnd(crowd);
}

async function clusterOnPostgres(leaseMs: number) {
  const store = await startPostgres();
  const directory = scratchDirectory();
  const effectsFile = join(directory, "effects");
  const cluster = await startCluster({
    ...{ nodes: 3, leaseMs, directory },
    command: [process.execPath, server, effectsFile],
    store: { host: "127.0.0.1", port: store.port },
    logThrough: (port) => {
      const url = new URL(store.url);
      url.port = String(port);
      return url.href;
    },
  });
  const effects = () => {
    const text = existsSync(effectsFile) ? readFileSync(effectsFile, "utf8") : "";
    return text.split("\n").filter((line) => line !== "");
  };
  return { cluster, effects };
}
