/**
 * A child process of a test: ready when it says so, its output kept, gone when the test is over.
 *
 * Runs the repository's own Node for `node`, with the sources of our packages. Each child leads a
 * process group, so that its own children go with it at the end; `kill` reaches the child alone.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { onDispose } from "./disposal.ts";
import { within } from "./wait-for.ts";

export interface SpawnOptions {
  /** Added to the environment; `undefined` takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Ready once a line on stdout or stderr matches; at once without it. */
  readonly readyPattern?: RegExp;
  readonly readyMs?: number;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnedProcess {
  readonly pid: number;
  /** The match of `readyPattern`: a port, a URL. */
  readonly ready: RegExpMatchArray | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<ProcessExit>;
  /** The first line, past ones included, of stdout or stderr that matches. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  /** To stdin. */
  write(text: string): void;
  endInput(): void;
  /** Send a signal to the process alone, as `SIGSTOP`. */
  signal(name: NodeJS.Signals): void;
  /** Send a signal that ends it, SIGKILL by default, and wait for its exit. */
  kill(name?: NodeJS.Signals): Promise<ProcessExit>;
}

const heldPipesMs = 200;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * @param command - a name on the path, a file, or `node`
 * @throws Error with its output when it exits before it is ready, or is not ready in time
 */
export async function spawnProcess(
  command: string,
  args: readonly string[] = [],
  options: SpawnOptions = {},
): Promise<SpawnedProcess> {
  const child: Child = spawn(command === "node" ? process.execPath : command, args, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: childEnvironment(options.env),
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = exitOf(child);
  // A child that is gone does not read: what is written then is nobody's.
  child.stdin.on("error", () => {});
  endWithTest(child, exited);
  const output = collectOutput(child);
  const commandLine = [command, ...args].join(" ");

  const line = async (pattern: RegExp, deadlineMs?: number): Promise<RegExpMatchArray> => {
    const gone = exited.then(({ code, signal }) => {
      throw new Error(`it exited with ${signal ?? code}`);
    });
    try {
      const found = output.line(pattern);
      return await within(Promise.race([found, gone]), `a line ${pattern}`, deadlineMs);
    } catch (error) {
      throw new Error(`${commandLine}: ${error}\n${output.stdout}${output.stderr}`);
    }
  };
  const { readyPattern } = options;
  const ready = readyPattern && (await line(readyPattern, options.readyMs));
  if (child.pid === undefined) await exited;

  return {
    ...{ pid: child.pid as number, ready, exited, line: (pattern) => line(pattern) },
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    write: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    signal: (name) => void child.kill(name),
    kill: (name = "SIGKILL") => {
      child.kill(name);
      return within(exited, `the end of ${commandLine} after ${name}`);
    },
  };
}

/** The test's environment, with the repository's Node first on the path, reading sources. */
function childEnvironment(more: SpawnOptions["env"] = {}): NodeJS.ProcessEnv {
  const condition = "--conditions=holdfast-source";
  const inherited = process.env.NODE_OPTIONS ?? "";
  const nodeOptions = inherited.includes(condition) ? inherited : `${inherited} ${condition}`;
  return {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
    NODE_OPTIONS: nodeOptions.trim(),
    ...more,
  };
}

/** Its exit, with all of its output read; grandchildren may hold the pipes open for longer. */
function exitOf(child: Child): Promise<ProcessExit> {
  const exited = new Promise<ProcessExit>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
    child.on("exit", (code, signal) => {
      setTimeout(() => resolve({ code, signal }), heldPipesMs).unref();
    });
  });
  exited.catch(() => {});
  return exited;
}

/** Leaders of process groups that may still have members. */
const groups = new Set<number>();
process.on("exit", () => {
  for (const pid of groups) killGroup(pid);
});

function endWithTest(child: Child, exited: Promise<ProcessExit>): void {
  const { pid } = child;
  if (pid === undefined) return;
  groups.add(pid);
  onDispose(async () => {
    killGroup(pid);
    groups.delete(pid);
    await exited;
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in the group.
  }
}

function collectOutput(child: Child) {
  const text = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (more: string) => {
      text[name] += more;
      for (const look of [...waiting]) look();
    });
  }
  const match = (pattern: RegExp) =>
    [text.stdout, text.stderr]
      .flatMap((one) => one.split("\n").slice(0, -1))
      .map((line) => line.match(pattern))
      .find((found) => found !== null);
  return {
    get stdout() {
      return text.stdout;
    },
    get stderr() {
      return text.stderr;
    },
    line: (pattern: RegExp) =>
      new Promise<RegExpMatchArray>((resolve) => {
        const look = () => {
          const found = match(pattern);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
