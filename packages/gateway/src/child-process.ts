/**
 * One child process with its pipes: how it is started, signalled and ended. Knows nothing of MCP.
 *
 * The child leads a process group of its own. So Ctrl-C in a terminal reaches the gateway alone,
 * which then drains before it ends its children; and a signal to the group reaches what the child
 * started in turn (npx, sh).
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { settlesWithin } from "./settles-within.ts";

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Child {
  readonly pid: number;
  readonly stdin: ChildProcessWithoutNullStreams["stdin"];
  readonly stdout: ChildProcessWithoutNullStreams["stdout"];
  readonly stderr: ChildProcessWithoutNullStreams["stderr"];
  /** Resolves, with a few words on how, when the process itself is gone. */
  readonly exited: Promise<string>;
  /** Resolves when a write found that nobody reads any more. */
  readonly inputClosed: Promise<void>;
  /** Resolves when the process is gone and its pipes are at their end: nobody holds them. */
  readonly closed: Promise<void>;
  /** To the whole group; nothing happens when there is none any more. */
  signalGroup(signal: NodeJS.Signals): void;
}

/**
 * Start a child, without a shell.
 *
 * @throws what `spawn` reports: `ENOENT`, `EACCES`, …
 */
export async function startChild(command: ChildCommand): Promise<Child> {
  const child = spawn(command.command, command.args, {
    env: command.env,
    stdio: "pipe",
    detached: true,
  });
  // The failed write itself is told to its writer.
  const inputClosed = new Promise<void>((resolve) => child.stdin.on("error", () => resolve()));
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`);
    });
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const pid = await new Promise<number>((resolve, reject) => {
    child.once("spawn", () => resolve(child.pid ?? 0));
    child.once("error", reject);
  });
  child.on("error", () => {}); // A signal that could not be sent: `exited` will tell.
  const { stdin, stdout, stderr } = child;
  return {
    pid,
    stdin,
    stdout,
    stderr,
    exited,
    inputClosed,
    closed,
    signalGroup: (signal) => signalGroup(pid, signal),
  };
}

/**
 * End a child in the order of the transport spec: [spec] close its input, wait, SIGTERM, wait,
 * SIGKILL. Whoever is left in its group then ends with it.
 *
 * @param graceMs - how long each of the two waits may be
 */
export async function endChild(child: Child, graceMs: number): Promise<void> {
  child.stdin.end();
  if (!(await settlesWithin(child.closed, graceMs))) {
    child.signalGroup("SIGTERM");
    if (!(await settlesWithin(child.closed, graceMs))) {
      child.signalGroup("SIGKILL");
      await settlesWithin(child.exited, graceMs);
      // Who left the group may hold the pipes for ever.
      child.stdout.destroy();
      child.stderr.destroy();
    }
  }
  child.signalGroup("SIGKILL");
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EPERM: the one process left in the group is another user's (a setuid program).
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
