/**
 * A bad load balancer on loopback, as small as the demo needs it: passes bytes on over TCP, cuts
 * connections with a reset, answers 503 for a while. It reads no HTTP.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Balancer {
  readonly port: number;
  /** Connections that were cut, and those that were answered 503. */
  readonly counts: { readonly cuts: number; readonly refusals: number };
  /** Reset every open connection, on both sides. */
  cutAll(): void;
  /** From now on, reset a connection on which nothing has passed for so long, milliseconds. */
  cutSilent(idleMs: number): void;
  /** Answer new connections with 503, milliseconds. */
  refuseFor(ms: number): void;
  close(): Promise<void>;
}

const refusalText =
  "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

export async function startBalancer(targetPort: number): Promise<Balancer> {
  /** The open connections, by the caller's socket, and how to cut each. */
  const cuts = new Map<Socket, () => void>();
  const counts = { cuts: 0, refusals: 0 };
  let refusesUntilMs = 0;
  let idleMs = 0;

  const pass = (client: Socket) => {
    const server = connect({ host: "127.0.0.1", port: targetPort, noDelay: true });
    const cut = () => {
      if (!cuts.delete(client)) return;
      counts.cuts += 1;
      client.resetAndDestroy();
      server.resetAndDestroy();
    };
    cuts.set(client, cut);
    // Bytes of either direction pass this socket, so its silence is that of both; 0 is never.
    client.setTimeout(idleMs).on("timeout", cut);
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) {
      socket.on("error", () => {});
      socket.on("close", () => {
        cuts.delete(client);
        client.destroy();
        server.destroy();
      });
    }
  };
  const refuse = (client: Socket) => {
    client.on("error", () => {});
    // Read first: unread bytes of the request would turn the close into a reset.
    client.once("data", () => {
      counts.refusals += 1;
      client.end(refusalText);
    });
    client.resume();
  };
  const listener = createServer({ noDelay: true }, (client) => {
    if (performance.now() < refusesUntilMs) refuse(client);
    else pass(client);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cutAll = () => {
    for (const cut of [...cuts.values()]) cut();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    counts,
    cutAll,
    cutSilent: (ms) => {
      idleMs = ms;
      for (const client of cuts.keys()) client.setTimeout(ms);
    },
    refuseFor: (ms) => {
      refusesUntilMs = performance.now() + ms;
    },
    close: async () => {
      const closed = once(listener, "close");
      listener.close();
      cutAll();
      await closed;
    },
  };
}
