/** The command as a process of its own, in a directory of its own; for the tests beside. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onDispose, type SpawnedProcess, spawnProcess } from "@holdfast/testkit";

const bin = fileURLToPath(new URL("../bin/holdfast.js", import.meta.url));

export interface GatewayProcess extends SpawnedProcess {
  readonly url: string;
  readonly cwd: string;
}

/** A directory that goes with the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-gateway-"));
  onDispose(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Run the command; it may end at once. */
export function holdfast(
  args: readonly string[],
  cwd = scratchDirectory(),
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<SpawnedProcess> {
  // The command finds its sources by itself, as for a user.
  return spawnProcess("node", [bin, ...args], { cwd, env: { NODE_OPTIONS: undefined, ...env } });
}

/** Start a gateway on a free port; ready when it listens. */
export async function startGateway(
  args: readonly string[],
  cwd = scratchDirectory(),
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<GatewayProcess> {
  const own = { HOLDFAST_PORT: "0", HOLDFAST_ADMIN_PORT: "0", ...env };
  const process = await holdfast(args, cwd, own);
  const [, url = ""] = await process.line(/listens on (http:\S+)/);
  return Object.assign(process, { url, cwd });
}
