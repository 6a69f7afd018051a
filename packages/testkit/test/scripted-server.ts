/** A node:http server on loopback that does what a test says, gone with the test. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onDispose } from "../src/disposal.ts";

export interface ScriptedServer {
  readonly server: Server;
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

export async function scriptedServer(listener: RequestListener): Promise<ScriptedServer> {
  const server = createServer({ insecureHTTPParser: true }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { server, host: "127.0.0.1", port, url: `http://127.0.0.1:${port}/mcp` };
}
