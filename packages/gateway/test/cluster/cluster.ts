/** Gateways on one store behind a real HAProxy that takes them in turns, and what befalls them. */
import { setTimeout as delay } from "node:timers/promises";
import { type FaultProxy, faultProxy, freePort, startHaproxy } from "@holdfast/testkit";
import { type GatewayProcess, startGateway } from "../gateway-process.ts";

export interface ClusterSettings {
  readonly nodes: number;
  readonly leaseMs: number;
  readonly directory: string;
  /** The command behind each gateway. */
  readonly command: readonly string[];
  /** Where the store listens, and its URL through a proxy on a port. */
  readonly store: { readonly host: string; readonly port: number };
  logThrough(port: number): string;
}

export interface ClusterNode {
  readonly port: number;
  readonly proxy: FaultProxy;
  process: GatewayProcess;
}

export interface Cluster {
  /** Of the balancer. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** End a node and start it again on its port. */
  replace(node: ClusterNode, signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** Stop a node for two leases, while it believes that no time passes. */
  freeze(node: ClusterNode): Promise<void>;
  /** Keep the store out of a node's reach for two leases. */
  cutOff(node: ClusterNode): Promise<void>;
}

export async function startCluster(settings: ClusterSettings): Promise<Cluster> {
  const { leaseMs } = settings;
  const nodes: ClusterNode[] = [];
  for (let n = 0; n < settings.nodes; n += 1) {
    const proxy = await faultProxy({ target: settings.store });
    const port = await freePort();
    nodes.push({ port, proxy, process: await start(settings, port, proxy) });
  }
  const [first, ...others] = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  if (first === undefined) throw new Error("a cluster has a node");
  const balancer = await startHaproxy({ target: first, others, idleTimeoutMs: 60_000 });
  return {
    url: balancer.url("/mcp"),
    nodes,
    replace: async (node, signal) => {
      await node.process.kill(signal);
      node.process = await start(settings, node.port, node.proxy);
    },
    freeze: async ({ process: { pid } }) => {
      process.kill(pid, "SIGSTOP");
      await delay(2 * leaseMs);
      process.kill(pid, "SIGCONT");
    },
    cutOff: async ({ proxy }) => {
      proxy.blackhole(true);
      await delay(2 * leaseMs);
      proxy.heal();
      proxy.cutAll("rst");
    },
  };
}

function start(settings: ClusterSettings, port: number, proxy: FaultProxy) {
  const { leaseMs, directory, command, logThrough } = settings;
  const args = [
    ...["serve", "--log", logThrough(proxy.port), "--lease", `${leaseMs}ms`],
    ...["--heartbeat", "200ms", "--log-level", "error", "--drain-timeout", "5s", "--", ...command],
  ];
  return startGateway(args, directory, { HOLDFAST_PORT: String(port) });
}
