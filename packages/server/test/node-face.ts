/** The runtime behind `node:http`, as the acceptance suite serves it. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessionRuntime, type SessionRuntime } from "@holdfast/server";
import type { Face, FaceParts, ServedFace } from "@holdfast/testkit/face-acceptance";
import { placeLog } from "./logs.ts";

export const nodeFace: Face = {
  name: "node",
  serve: (parts) => serveRuntime(parts, (runtime) => runtime.node),
};

/** @param listenerOf - what stands between the server and the runtime */
export async function serveRuntime(
  parts: FaceParts,
  listenerOf: (runtime: SessionRuntime) => RequestListener,
): Promise<ServedFace> {
  const place = await placeLog(parts.log);
  const start = ({ log: _kind, logGate, ...rest }: FaceParts) => {
    const taken = place.take(logGate);
    const runtime = createSessionRuntime({ ...rest, log: taken.log });
    return { taken, runtime, listener: listenerOf(runtime) };
  };
  let current = start(parts);
  const server = createServer({ requireHostHeader: false }, (req, res) =>
    current.listener(req, res),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    breachCount: () => current.runtime.breachCount(),
    sessionCount: () => current.runtime.sessionCount(),
    drain: (timeoutMs) => current.runtime.drain(timeoutMs),
    restart: async (stop, changes = {}) => {
      const { taken, runtime } = current;
      if (stop === "close") await runtime.close();
      else await taken.cutOff();
      server.closeAllConnections();
      current = start({ ...parts, ...changes });
      await current.runtime.ready();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      await current.runtime.close();
      server.closeAllConnections();
      await closed;
      await place.remove();
    },
  };
}
