/**
 * Real load balancers in front of a server under test: Debian's HAProxy and nginx.
 *
 * Configured as an operator who changed nothing but the idle timeout: nginx buffers responses,
 * speaks HTTP/1.0 to its upstream, and no line of ours helps an event stream through.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onDispose } from "./disposal.ts";
import { findBinary } from "./services.ts";
import { type SpawnedProcess, spawnProcess } from "./spawn-process.ts";
import { patienceMs } from "./wait-for.ts";

export interface RealProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  /** After so long without a byte from the server the response is cut. */
  readonly idleTimeoutMs: number;
  /** More servers, which take their turns with the target; HAProxy alone. */
  readonly others?: readonly { readonly host: string; readonly port: number }[];
}

export interface RealProxy {
  readonly port: number;
  readonly url: (path: string) => string;
  readonly process: SpawnedProcess;
  close(): Promise<void>;
}

/** @throws Error when the binary is missing: ask `requireService("haproxy")` first */
export function startHaproxy(options: RealProxyOptions): Promise<RealProxy> {
  return start("haproxy", options, haproxyConfig, (file) => ["-db", "-f", file]);
}

/** @throws Error when the binary is missing: ask `requireService("nginx")` first */
export function startNginx(options: RealProxyOptions): Promise<RealProxy> {
  return start("nginx", options, nginxConfig, (file, directory) => [
    ...["-e", "stderr", "-p", directory, "-c", file],
  ]);
}

/** A port of 127.0.0.1 that was free just now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

type Config = (options: RealProxyOptions, port: number, directory: string) => string;

async function start(
  name: string,
  options: RealProxyOptions,
  config: Config,
  args: (file: string, directory: string) => string[],
): Promise<RealProxy> {
  const binary = findBinary(name);
  if (binary === undefined) throw new Error(`"${name}" is not installed`);
  const directory = mkdtempSync(join(tmpdir(), `holdfast-${name}-`));
  // nginx's worker gives up root, and must still enter.
  chmodSync(directory, 0o755);
  onDispose(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const file = join(directory, `${name}.conf`);
  writeFileSync(file, config(options, port, directory));
  const child = await spawnProcess(binary, args(file, directory));
  await accepting(port, child);
  return {
    ...{ port, process: child, url: (path) => `http://127.0.0.1:${port}${path}` },
    close: async () => {
      await child.kill("SIGTERM");
    },
  };
}

function haproxyConfig(options: RealProxyOptions, port: number): string {
  const { target, idleTimeoutMs, others = [] } = options;
  const servers = [target, ...others].map(
    ({ host, port: at }, index) => `  server s${index} ${host}:${at}`,
  );
  // A server that does not take the connection is passed over, as it is by any balancer.
  const turns = others.length > 0 ? ["  balance roundrobin", "  option redispatch 1"] : [];
  return `global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client ${idleTimeoutMs}ms
  timeout server ${idleTimeoutMs}ms
  timeout tunnel ${idleTimeoutMs}ms
frontend mcp
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
${[...turns, ...servers].join("\n")}
`;
}

function nginxConfig(options: RealProxyOptions, port: number, directory: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `  ${name}_temp_path ${directory}/${name};`)
    .join("\n");
  return `daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log stderr;
events {
  worker_connections 1024;
}
http {
  access_log off;
${temporary}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${options.target.host}:${options.target.port};
      proxy_read_timeout ${options.idleTimeoutMs}ms;
    }
  }
}
`;
}

/** A foreign daemon does not say that it listens: knock until it opens. */
async function accepting(port: number, child: SpawnedProcess): Promise<void> {
  let exit: string | undefined;
  void child.exited.then(({ code, signal }) => {
    exit = `it exited with ${signal ?? code}`;
  });
  for (let waitedMs = 0; waitedMs < patienceMs && exit === undefined; waitedMs += knockMs) {
    if (await opens(port)) return;
    await sleep(knockMs);
  }
  throw new Error(`it does not listen on ${port}: ${exit ?? "too late"}\n${child.stderr}`);
}

const knockMs = 20;

function opens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
