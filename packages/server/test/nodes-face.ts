/**
 * Several runtimes on one store, as the acceptance suite serves them: each request goes to the next
 * one, as a balancer without memory would send it. Whatever holds of one runtime holds of them all.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessionRuntime } from "@holdfast/server";
import type { Face, FaceParts } from "@holdfast/testkit/face-acceptance";
import { placeStore } from "./logs.ts";

export const nodeCount = 3;

export const nodesFace: Face = {
  name: "nodes",
  serve: async (parts) => {
    const place = placeStore();
    const start = ({ log: _kind, logGate, options, ...rest }: FaceParts) =>
      Array.from({ length: nodeCount }, () => {
        const taken = place.take(logGate);
        // A clock that a test moves by hand takes nobody's lease away.
        const leaseMs = 1_000_000_000;
        const given = { ...rest, options: { ...options, leaseMs } };
        return { taken, runtime: createSessionRuntime({ ...given, log: taken.log }) };
      });
    let nodes = start(parts);
    const ready = () => Promise.all(nodes.map(({ runtime }) => runtime.ready()));
    await ready();
    let turn = 0;
    const server = createServer({ requireHostHeader: false }, (req, res) => {
      turn += 1;
      nodes[turn % nodeCount]?.runtime.node(req, res);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const sum = (count: (node: (typeof nodes)[number]) => number) =>
      nodes.reduce((total, node) => total + count(node), 0);
    return {
      url: `http://127.0.0.1:${port}/mcp`,
      breachCount: () => sum(({ runtime }) => runtime.breachCount()),
      sessionCount: () => sum(({ runtime }) => runtime.sessionCount()),
      drain: async (timeoutMs) => {
        const left = await Promise.all(nodes.map(({ runtime }) => runtime.drain(timeoutMs)));
        return left.reduce((total, calls) => total + calls, 0);
      },
      restart: async (stop, changes = {}) => {
        if (stop === "close") await Promise.all(nodes.map(({ runtime }) => runtime.close()));
        else await Promise.all(nodes.map(({ taken }) => taken.cutOff()));
        server.closeAllConnections();
        nodes = start({ ...parts, ...changes });
        await ready();
      },
      close: async () => {
        const closed = new Promise((resolve) => server.close(resolve));
        await Promise.all(nodes.map(({ runtime }) => runtime.close()));
        server.closeAllConnections();
        await closed;
        await place.remove();
      },
    };
  },
};
