/**
 * One gateway in this process: log, children, session runtime and listener put together, and taken
 * apart in the reverse order. No terminal, no signals: main.ts has those.
 */
import { performance } from "node:perf_hooks";
import { type EventLog, memoryLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime, type UpstreamFactory } from "@holdfast/server";
import type { Logger } from "pino";
import { type AdminPlace, prepareAdmin } from "./admin/admin.ts";
import { openGate } from "./auth/gate.ts";
import type { Served } from "./command-line.ts";
import { drainAndClose } from "./draining.ts";
import { childEnvironment, findCommandFault } from "./environment.ts";
import { httpUpstreams } from "./http-upstream/http-upstream.ts";
import { type Handler, type Listener, listen } from "./listen.ts";
import { isLoopback, isWildcard } from "./option-values.ts";
import type { LogChoice, ServeOptions } from "./serve-options.ts";
import { startError, stdioDefaults, stdioUpstreams } from "./stdio-upstream.ts";

export interface ServeTask {
  readonly options: ServeOptions;
  readonly served: Served;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Serving {
  /** Of the MCP endpoint, here. */
  readonly url: string;
  /** Of the admin port, unless it is off. */
  readonly admin?: AdminPlace;
  /**
   * End cleanly, within the time that the options give [C D-02]: let running calls end, let
   * viewports go, end the children, close the log. No session ends by it [C S-01].
   */
  stop(): Promise<void>;
  /** End the children at once; for a process that exits in this very moment. */
  killChildren(): void;
}

/**
 * Begin to serve.
 *
 * @throws {@link HoldfastError} `ERR_UPSTREAM_START` for a command that cannot be run, what opening
 * the log throws, `ERR_OPTION` for a file of tokens that cannot be used or a place that cannot be
 * listened on
 */
export async function startServing(task: ServeTask, logger: Logger): Promise<Serving> {
  const { options } = task;
  const { host, port, requests } = options;
  const { upstream, killChildren } = openUpstreams(task, logger);
  const gate = await openGate(options, logger, () => performance.now());
  const { authenticate } = gate;
  const log = await openLog(options.log, logger);
  const admin = await prepareAdmin(options, logger);
  const runtime = createSessionRuntime({
    log,
    upstream,
    options: { ...options.runtime, allowedHosts: allowedHosts(options) },
    logger,
    ...(authenticate === undefined ? {} : { authenticate }),
    ...(admin === undefined
      ? {}
      : { meterProvider: admin.metrics.meterProvider, observe: admin.history.observe }),
  });
  let listening: Listener | undefined;
  let listener: Listener;
  let adminPlace: AdminPlace | undefined;
  let handler: Handler = runtime.node;
  try {
    await runtime.ready();
    listener = await listen({ host, port, requests }, (req, res) => handler(req, res));
    listening = listener;
    const about = { url: urlOf(listener, options), liveSessions: () => log.liveSessions() };
    adminPlace = await admin?.serve(runtime, about);
  } catch (error) {
    await listening?.close(0);
    await runtime.close();
    await admin?.close();
    throw error;
  }
  const url = urlOf(listener, options);
  const publicUrl = options.publicUrl ?? (isWildcard(host) ? undefined : url);
  if (publicUrl !== undefined) handler = gate.publish(publicUrl, runtime.node);
  if (authenticate === undefined && !isLoopback(host)) {
    logger.warn({ host }, "whoever reaches this address may call the server: there is no --auth");
  }
  const timeoutMs = options.drainTimeoutMs;
  return {
    url,
    ...(adminPlace === undefined ? {} : { admin: adminPlace }),
    stop: async () => {
      await drainAndClose({ runtime, listener, logger, timeoutMs });
      await admin?.close();
    },
    killChildren: killChildren,
  };
}

function openUpstreams(
  { options: { eventBytesMax }, served, env }: ServeTask,
  logger: Logger,
): { readonly upstream: UpstreamFactory; readonly killChildren: () => void } {
  if (served.kind === "url") {
    const { url, headers } = served;
    const upstream = httpUpstreams({ url, headers, eventBytesMax, logger });
    return { upstream, killChildren: () => {} };
  }
  const { command, args } = served;
  const own = childEnvironment(env);
  const fault = findCommandFault(command, own);
  if (fault !== undefined) throw startError(command, Object.assign(new Error(), { code: fault }));
  const settings = { ...stdioDefaults, eventBytesMax, command, args, env: own, logger };
  const upstreams = stdioUpstreams(settings);
  return { upstream: upstreams, killChildren: upstreams.killAll };
}

function urlOf({ origin }: Listener, { runtime }: ServeOptions): string {
  return `${origin}${runtime.path ?? "/"}`;
}

async function openLog(choice: LogChoice, logger: Logger): Promise<EventLog> {
  switch (choice.kind) {
    case "memory":
      return memoryLog();
    case "sqlite":
      return sqliteLog(choice.path, { durability: choice.durability });
    case "redis": {
      const { redisLog } = await import("@holdfast/log-redis");
      const onWarning = (sentence: string) => logger.warn(sentence);
      return redisLog(choice.url, { isStrict: choice.isStrict, onWarning });
    }
    case "postgres": {
      // With its driver, which a start on another log need not wait for.
      const { postgresLog } = await import("@holdfast/log-postgres");
      return postgresLog(choice.url, { onWarning: (sentence) => logger.warn(sentence) });
    }
  }
}

/** Names that were given to the endpoint may be named by clients: no page can take them [C P-01]. */
function allowedHosts({ host, publicUrl, runtime }: ServeOptions): readonly string[] {
  const own = isWildcard(host) ? [] : [host.includes(":") ? `[${host}]` : host];
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).host];
  return [...runtime.allowedHosts, ...own, ...published];
}
