/** A stdio server that a test holds back: its calls end when the test says so. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onDispose, signal, within } from "@holdfast/testkit";
import { serverScript } from "./stdio-script.ts";

export interface RemoteServer {
  /**
   * The command. Methods: `slow` ends when it is released, with its own params; `flood` sends
   * `{ mb }` megabytes of log messages first.
   */
  readonly command: readonly string[];
  /** Calls of `slow` that began, over all processes. */
  readonly begun: number;
  /** Resolves when so many have begun. */
  hasBegun(calls: number): Promise<void>;
  /** Let every call end that has begun. */
  release(): void;
  /** Resolves when every process is gone. */
  gone(): Promise<void>;
}

/** @param isDeaf - its processes heed neither the end of their input nor SIGTERM */
export async function remoteServer({ isDeaf = false } = {}): Promise<RemoteServer> {
  const sockets = new Map<Socket, Promise<unknown>>();
  const calls = signal<number>("call");
  let begun = 0;
  const server = createServer((socket) => {
    sockets.set(
      socket,
      once(
        socket.on("error", () => {}),
        "close",
      ),
    );
    socket.on("data", (data) => {
      begun += data.length;
      calls.emit(begun);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onDispose(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const deaf = `process.on("SIGTERM", () => {}), setInterval(() => {}, 1e6),`;
  const command = serverScript(`(() => {
    const waiting = [];
    const socket = require("net").connect(${port}, "127.0.0.1");
    ${isDeaf ? deaf : "socket.unref(),"}
    socket.on("data", () => waiting.splice(0).forEach((end) => end()));
    const slow = (params) => new Promise((resolve) => {
      waiting.push(() => resolve(params));
      socket.write(".");
    });
    const flood = ({ mb }) => {
      const data = "x".repeat(2 ** 20);
      for (let n = 0; n < mb; n++) {
        write({ method: "notifications/message", params: { level: "info", data } });
      }
      return {};
    };
    return { slow, flood };
  })()`);
  return {
    command,
    get begun() {
      return begun;
    },
    hasBegun: async (count) => {
      while (begun < count) await calls.next();
    },
    release: () => {
      for (const socket of sockets.keys()) if (socket.writable) socket.write("go");
    },
    gone: async () => {
      await within(Promise.all(sockets.values()), "the end of all children");
    },
  };
}
