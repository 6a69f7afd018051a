/** What the judges are pointed at: our endpoints, as processes, on free ports. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onDispose, type SpawnedProcess, spawnProcess } from "@holdfast/testkit";
import { repositoryFile } from "./packages.ts";

export interface Target {
  readonly url: string;
  readonly process: SpawnedProcess;
  readonly cwd: string;
}

const gatewayBin = repositoryFile("packages/gateway/bin/holdfast.js");
const everything = (file: string) => repositoryFile(`examples/everything/${file}`);

/** The everything server on `createSessionHandler`. */
export async function handlerTarget(): Promise<Target> {
  const cwd = scratch();
  const started = await spawnProcess("node", [everything("server.ts")], {
    ...{ cwd, env: { PORT: "0" }, readyPattern: /MCP on (http:\S+)/ },
  });
  return { url: started.ready?.[1] ?? "", process: started, cwd };
}

/** `holdfast serve`. */
export async function gatewayTarget(args: readonly string[]): Promise<Target> {
  const cwd = scratch();
  const started = await spawnProcess("node", [gatewayBin, "serve", ...args], {
    ...{ cwd, env: { HOLDFAST_PORT: "0", HOLDFAST_ADMIN_PORT: "0" } },
    readyPattern: /listens on (http:\S+)/,
  });
  return { url: started.ready?.[1] ?? "", process: started, cwd };
}

/** The everything server over stdio, behind the gateway. */
export function stdioTarget(): Promise<Target> {
  return gatewayTarget(["--", process.execPath, everything("stdio.ts")]);
}

/** The everything server over HTTP, behind the gateway. */
export async function upstreamTarget(): Promise<Target> {
  const { url } = await handlerTarget();
  return gatewayTarget(["--upstream", url]);
}

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-interop-"));
  onDispose(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
