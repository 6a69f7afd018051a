/** One way to a Redis server: it can be cut, and messages between nodes can be lost on it. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onDispose } from "@holdfast/testkit";

export interface RedisProxy {
  readonly url: string;
  /** Nothing gets through any more: what is connected is closed, what connects too. */
  cut(): void;
  heal(): void;
  /** From now on messages of the store are swallowed, or not. */
  mute(isMuted: boolean): void;
}

/** A message of pub/sub, sharded or not, in RESP2. */
const isMessage = /^\*3\r\n\$\d\r\ns?message\r\n/;

/** It goes with the test. */
export async function redisProxy(target: string): Promise<RedisProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isMuted = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (data) => {
      if (isMuted && isMessage.test(data.toString("latin1"))) return;
      client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const closeAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  onDispose(async () => {
    closeAll();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      closeAll();
    },
    heal: () => {
      isCut = false;
    },
    mute: (is) => {
      isMuted = is;
    },
  };
}
