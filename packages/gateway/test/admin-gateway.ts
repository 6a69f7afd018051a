/** A gateway with its admin port, in front of worker-server.ts; for the tests beside. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RawResponse, rawRequest } from "@holdfast/testkit";
import {
  type GatewayProcess,
  holdfast,
  scratchDirectory,
  startGateway,
} from "./gateway-process.ts";

const script = fileURLToPath(new URL("./worker-server.ts", import.meta.url));

export interface AdminGateway {
  readonly process: GatewayProcess;
  /** Of the MCP endpoint. */
  readonly url: string;
  /** Of the admin port: `http://127.0.0.1:8849`. */
  readonly admin: string;
  readonly directory: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** @param options - of `holdfast serve` */
export async function serveAdmin(
  options: readonly string[] = [],
  env: Env = {},
  directory = scratchDirectory(),
): Promise<AdminGateway> {
  const command = ["--", process.execPath, script, join(directory, "effects")];
  const own = { HOLDFAST_ADMIN_PORT: "auto", ...env };
  const gateway = await startGateway(["serve", ...options, ...command], directory, own);
  const [, admin = ""] = await gateway.line(/admin +(http:\S+)/);
  return { process: gateway, url: gateway.url, admin, directory };
}

/** Ask the admin port. @param path - `/api/sessions` */
export function ask(
  { admin }: Pick<AdminGateway, "admin">,
  path: string,
  request: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<RawResponse> {
  return rawRequest({ url: `${admin}${path}`, ...request });
}

/** Run `holdfast sessions` to its end. @returns what it printed, and its exit code */
export async function sessionsCommand(
  { admin }: Pick<AdminGateway, "admin">,
  args: readonly string[],
  env: Env = {},
): Promise<{ readonly out: string; readonly err: string; readonly code: number | null }> {
  const command = await holdfast(["sessions", ...args], scratchDirectory(), {
    HOLDFAST_ADMIN_URL: admin,
    ...env,
  });
  const { code } = await command.exited;
  return { out: command.stdout, err: command.stderr, code };
}

/** The samples of a scrape by their names with labels. */
export function samplesOf(text: string): Readonly<Record<string, number>> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}
