/**
 * One gateway in this process: log, children, session runtime and listener put together, and taken
 * apart in the reverse order. No terminal, no signals: main.ts has those.
 */
import { type EventLog, memoryLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import type { Logger } from "pino";
import { childEnvironment, findCommandFault } from "./environment.ts";
import { type Listener, listen } from "./listen.ts";
import type { LogChoice, ServeOptions } from "./serve-options.ts";
import { startError, stdioDefaults, stdioUpstreams } from "./stdio-upstream.ts";

export interface ServeTask {
  readonly options: ServeOptions;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Serving {
  /** Of the MCP endpoint. */
  readonly url: string;
  /**
   * End cleanly: take no new connection, let viewports go, end the children, close the log. No
   * session ends by it [C S-01].
   */
  stop(): Promise<void>;
  /** End the children at once; for a process that exits in this very moment. */
  killChildren(): void;
}

/**
 * Begin to serve.
 *
 * @throws {@link HoldfastError} `ERR_UPSTREAM_START` for a command that cannot be run, what opening
 * the log throws, `ERR_OPTION` for a place that cannot be listened on
 */
export async function startServing(task: ServeTask, logger: Logger): Promise<Serving> {
  const { options, command, args } = task;
  const env = childEnvironment(task.env);
  const fault = findCommandFault(command, env);
  if (fault !== undefined) throw startError(command, Object.assign(new Error(), { code: fault }));
  const upstreams = stdioUpstreams({ ...stdioDefaults, command, args, env, logger });
  const runtime = createSessionRuntime({
    log: openLog(options.log),
    upstream: upstreams,
    options: { ...options.runtime, allowedHosts: allowedHosts(options) },
    logger,
  });
  await runtime.ready();
  let listener: Listener;
  try {
    listener = await listen(options, runtime.node);
  } catch (error) {
    await runtime.close();
    throw error;
  }
  return {
    url: `${listener.origin}${options.runtime.path ?? "/"}`,
    stop: async () => {
      listener.stop();
      await runtime.close();
      await listener.close();
    },
    killChildren: upstreams.killAll,
  };
}

function openLog(choice: LogChoice): EventLog {
  if (choice.kind === "memory") return memoryLog();
  return sqliteLog(choice.path, { durability: choice.durability });
}

/** An address that was named to listen on may be named by clients: no page can take it [C P-01]. */
function allowedHosts({ host, runtime }: ServeOptions): readonly string[] {
  if (isWildcard(host)) return runtime.allowedHosts;
  return [...runtime.allowedHosts, host.includes(":") ? `[${host}]` : host];
}

/** All addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
