/**
 * Real Redis for tests: one that is there for all, or one of a test's own that may be stopped,
 * killed, flushed and configured.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onDispose } from "./disposal.ts";
import { freePort } from "./real-proxies.ts";
import { findBinary, requireService } from "./services.ts";
import { type SpawnedProcess, spawnProcess } from "./spawn-process.ts";

const usualUrl = "redis://127.0.0.1:6379";

/**
 * A server that tests share, each under a prefix of its own: that of `HOLDFAST_TEST_REDIS_URL`, else
 * the one on the usual port, else one that is started for this process.
 *
 * @returns `undefined` when there is none, and tests are to be skipped
 */
export async function sharedRedis(): Promise<string | undefined> {
  const given = process.env.HOLDFAST_TEST_REDIS_URL;
  if (given !== undefined && given !== "") return given;
  if (await answers(usualUrl)) return usualUrl;
  if (!requireService("redis-server")) return undefined;
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "holdfast-redis-"));
  const binary = findBinary("redis-server") ?? "redis-server";
  const child = spawn(binary, argumentsOf(port, directory, []), { stdio: "ignore" });
  // It lasts as long as the process, beyond the test that asked first.
  process.once("exit", () => {
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });
  const url = `redis://127.0.0.1:${port}`;
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
  }
  return url;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  process: SpawnedProcess;
  /** Start it again, after it was killed: on the same port, with what is on the disk. */
  start(): Promise<void>;
}

/**
 * A server of the test's own; ask `requireService("redis-server")` first. It goes with the test.
 *
 * @param options - of its command line, such as `["--appendonly", "yes"]`
 */
export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "holdfast-redis-"));
  onDispose(async () => rmSync(directory, { recursive: true, force: true }));
  const binary = findBinary("redis-server") ?? "redis-server";
  const run = () =>
    spawnProcess(binary, argumentsOf(port, directory, options), {
      readyPattern: /Ready to accept connections/,
    });
  const server: RedisServer = {
    ...{ url: `redis://127.0.0.1:${port}`, port, directory, process: await run() },
    start: async () => {
      server.process = await run();
    },
  };
  return server;
}

function argumentsOf(port: number, directory: string, options: readonly string[]): string[] {
  const own = ["--bind", "127.0.0.1", "--port", `${port}`, "--dir", directory, "--save", ""];
  return [...own, ...options];
}

/** Does a Redis server say PONG there? */
async function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write("PING\r\n"));
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.on("data", (data) => end(/^(\+PONG|-NOAUTH)/.test(data.toString())));
    socket.on("error", () => end(false));
    socket.on("close", () => end(false));
  });
}
