/**
 * The admin port of one gateway: opened before the runtime, since it watches it from the start;
 * closed after it, since an operator wants to see how it ends.
 *
 *     prepared ──serve──▶ listening ──close──▶ closed
 */
import { memoryLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import type { SessionRuntime } from "@holdfast/server";
import type { Logger } from "pino";
import { type Listener, listen, listenOrFree } from "../listen.ts";
import { isLoopback, isWildcard, withoutPassword } from "../option-values.ts";
import type { LogChoice, ServeOptions } from "../serve-options.ts";
import { settlesWithin } from "../settles-within.ts";
import { readVersion } from "../version.ts";
import { History } from "./history.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { readPageFiles } from "./page-files.ts";
import { adminHandler } from "./routes.ts";

/** Where `holdfast sessions` looks, and the first choice of `--admin-port auto`. */
export const adminPortDefault = 8849;
/** How long open responses may take to end, and all of closing, milliseconds. */
const lingerMs = 200;
const closeMs = 1_000;

export interface Admin {
  readonly metrics: Metrics;
  readonly history: History;
  /** Begin to answer. @throws {@link HoldfastError} `ERR_OPTION` */
  serve(runtime: SessionRuntime, about: AboutServing): Promise<AdminPlace>;
  close(): Promise<void>;
}

export interface AboutServing {
  /** Of the MCP endpoint. */
  readonly url: string;
  /** Live sessions in the log. @throws what the log throws */
  liveSessions(): Promise<number>;
}

export interface AdminPlace {
  readonly origin: string;
  /** Set: this port was in use, another one is taken. */
  readonly insteadOf?: number;
}

/** @returns undefined where the admin port is off */
export async function prepareAdmin(
  options: ServeOptions,
  logger: Logger,
): Promise<Admin | undefined> {
  if (options.admin.port === "off") return undefined;
  const metrics = createMetrics();
  const history = await openHistory(options, logger);
  let listener: Listener | undefined;
  return {
    metrics,
    history,
    serve: async (runtime, { url, liveSessions }) => {
      const { host, port, token, showsBodies } = options.admin;
      const { clientReconnectMs } = options.runtime;
      const about = { version: readVersion(), url, clientReconnectMs, startedAtMs: Date.now() };
      const handler = adminHandler({
        ...{ runtime, history, metrics, logger, token, showsBodies },
        page: readPageFiles(),
        hosts: hostsOf(options),
        about: { ...about, log: placeOf(options.log) },
        liveSessions,
      });
      const { requests } = options;
      const at = { host, requests, freePort: "--admin-port auto" };
      const listened =
        typeof port === "number"
          ? { listener: await listen({ ...at, port }, handler) }
          : await listenOrFree({ ...at, port: adminPortDefault }, handler);
      listener = listened.listener;
      const { origin, port: taken } = listener;
      if (!("insteadOf" in listened)) return { origin };
      const { insteadOf } = listened;
      logger.warn({ port: taken, insteadOf }, "the admin port is in use; another one was taken");
      return { origin, insteadOf };
    },
    close: async () => {
      const closed = history
        .close()
        .then(() => listener?.close(lingerMs))
        .then(() => metrics.close());
      if (await settlesWithin(closed, closeMs)) await closed;
    },
  };
}

/** [C P-03] */
function placeOf(log: LogChoice): string {
  switch (log.kind) {
    case "memory":
      return "memory:";
    case "sqlite":
      return `sqlite:${log.path}`;
    default:
      return withoutPassword(log.url);
  }
}

/** What page and command show of the past; without it, there is still a present. */
async function openHistory(options: ServeOptions, logger: Logger): Promise<History> {
  const { windowMs } = options.runtime.retention;
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const settings = { windowMs, clock, logger };
  if (options.log.kind === "sqlite") {
    const log = sqliteLog(`${options.log.path}-history`, { durability: "process" });
    try {
      return await History.open({ ...settings, log });
    } catch (error) {
      await log.close().catch(() => undefined);
      logger.warn({ error }, "the history of sessions cannot be opened; it is kept in memory");
    }
  }
  return History.open({ ...settings, log: memoryLog() });
}

/** Names that the operator gave to the port; loopback is answered always. */
function hostsOf({ admin, runtime }: ServeOptions): readonly string[] {
  if (isLoopback(admin.host)) return [];
  const own = isWildcard(admin.host)
    ? []
    : [admin.host.includes(":") ? `[${admin.host}]` : admin.host];
  return [...own, ...runtime.allowedHosts];
}
