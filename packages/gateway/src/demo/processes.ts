/** The servers of the demo: processes of their own, all on free ports, gone when the demo ends. */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "@holdfast/contract";
import { type Child, startChild } from "../child-process.ts";
import { childEnvironment } from "../environment.ts";
import { settlesWithin } from "../settles-within.ts";
import type { StockStore, ToolProcessSettings } from "./tool-process.ts";
import type { ToolSettings } from "./tools.ts";

export interface DemoProcesses {
  /** The stock SDK's own HTTP face; port 0 is a free one. */
  startStock(port: number, tools: ToolSettings, store: StockStore): Promise<DemoServer>;
  /** `holdfast serve` in front of the same tools; port 0 is a free one. */
  startHoldfast(port: number, tools: ToolSettings, gateway: GatewaySettings): Promise<DemoServer>;
  /** End all of them, gently first. */
  stopAll(): Promise<void>;
  /** End all of them now, without waiting. */
  killAll(): void;
}

export interface GatewaySettings {
  readonly logFile: string;
  /** Options of `holdfast serve` beside port and log. */
  readonly options: readonly string[];
}

/** A server that listens. */
export interface DemoServer {
  readonly port: number;
  /** As `kill -9` does it; resolves when the process is gone. */
  kill(): Promise<void>;
}

const startMsMax = 30_000;
const graceMs = 5000;
const keptChars = 4000;

const script = fileURLToPath(new URL(`./tool-process${extname(import.meta.url)}`, import.meta.url));
const holdfastBin = fileURLToPath(new URL("../../bin/holdfast.js", import.meta.url));

export function demoProcesses(): DemoProcesses {
  const children = new Set<Child>();
  let isStopped = false;
  // Variables that an operator has set are for their gateway, and would change what is shown.
  const env = childEnvironment(process.env);
  const start = async (args: readonly string[]): Promise<DemoServer> => {
    const child = await startChild({ command: process.execPath, args, env });
    children.add(child);
    if (isStopped) child.signalGroup("SIGKILL");
    const kill = async () => {
      child.signalGroup("SIGKILL");
      await child.exited;
      // Its id may be that of another process soon.
      children.delete(child);
    };
    return { port: await listeningPort(child), kill };
  };
  const toolArgs = (settings: ToolProcessSettings) => [script, JSON.stringify(settings)];
  return {
    startStock: (port, tools, store) =>
      start(toolArgs({ ...tools, face: { kind: "http", port, store } })),
    startHoldfast: (port, tools, { logFile, options }) => {
      const quiet = ["--log-level", "error", "--admin-port", "0"];
      const where = ["--port", String(port), "--log", `sqlite:${logFile}`, ...quiet];
      const command = [process.execPath, ...toolArgs({ ...tools, face: { kind: "stdio" } })];
      return start([holdfastBin, "serve", ...where, ...options, "--", ...command]);
    },
    stopAll: async () => {
      isStopped = true;
      await Promise.all([...children].map(stop));
    },
    killAll: () => {
      for (const child of children) child.signalGroup("SIGKILL");
    },
  };
}

async function stop(child: Child): Promise<void> {
  child.signalGroup("SIGTERM");
  if (!(await settlesWithin(child.exited, graceMs))) child.signalGroup("SIGKILL");
  await child.exited;
}

async function listeningPort(child: Child): Promise<number> {
  let output = "";
  let complaint = "";
  const port = new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-keptChars);
      const match = /listens on http:\/\/127\.0\.0\.1:(\d+)\//.exec(output);
      if (match !== null) resolve(Number(match[1]));
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-keptChars);
    });
    void child.exited.then((how) => reject(startError(`${how}. ${complaint}`)));
  });
  if (!(await settlesWithin(port, startMsMax))) throw startError("does not say that it listens");
  return port;
}

function startError(how: string): HoldfastError {
  const problem = `A server of the demo could not be started: it ${how.trim()}`;
  return new HoldfastError("ERR_UPSTREAM_START", problem);
}
