/** The runtime behind `node:http`, as the acceptance suite serves it. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createSessionRuntime, type SessionRuntime } from "@holdfast/server";
import type { Face, FaceParts, ServedFace } from "@holdfast/testkit/face-acceptance";
import { openLog } from "./logs.ts";

export const nodeFace: Face = {
  name: "node",
  serve: (parts) => serveRuntime(parts, (runtime) => runtime.node),
};

/** @param listenerOf - what stands between the server and the runtime */
export async function serveRuntime(
  parts: FaceParts,
  listenerOf: (runtime: SessionRuntime) => RequestListener,
): Promise<ServedFace> {
  const { log: kind, logGate, ...rest } = parts;
  const log = await openLog(kind, logGate);
  const runtime = createSessionRuntime({ ...rest, log: log.log });
  const server = createServer({ requireHostHeader: false }, listenerOf(runtime));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    breachCount: runtime.breachCount,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      await runtime.close();
      server.closeAllConnections();
      await closed;
      await log.remove();
    },
  };
}
