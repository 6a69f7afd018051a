/**
 * A server in a process of its own, so that what it costs can be told from what its load costs.
 * This side starts it and asks; serve-measured.ts is the other side.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Answer, Question } from "./serve-measured.ts";

export interface MeasuredProcess {
  readonly port: number;
  readonly pid: number | undefined;
  /** What the server has to say beside its port. */
  readonly facts: unknown;
  /** Processor time since its start, user and system together, microseconds. */
  cpuUs(): Promise<number>;
  /** Bytes of JavaScript memory after a collection, and of the whole process. */
  memory(): Promise<{ readonly heapBytes: number; readonly rssBytes: number }>;
  /** Let the time pass after which nothing may be left. @returns what is */
  forget(): Promise<unknown>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly args?: readonly string[];
  /** Flags of Node, as `--cpu-prof`. */
  readonly nodeFlags?: readonly string[];
}

/**
 * Start `servers/<name>.ts`.
 *
 * @throws Error when it ends before it listens
 */
export async function startMeasured(
  name: string,
  { args = [], nodeFlags = [] }: ProcessOptions = {},
): Promise<MeasuredProcess> {
  const child = fork(new URL(`./servers/${name}.ts`, import.meta.url), args, {
    execArgv: ["--conditions=holdfast-source", "--expose-gc", ...nodeFlags],
  });
  const exited = once(child, "exit");
  const endWithUs = () => void child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const listening = await nextAnswer(child, "listening", exited);
  const ask = async <Kind extends "usage" | "memory">(kind: Kind) => {
    const answer = nextAnswer(child, kind, exited);
    child.send({ kind } satisfies Question);
    return answer;
  };
  return {
    port: listening.port,
    pid: child.pid,
    facts: listening.facts,
    cpuUs: async () => (await ask("usage")).cpuUs,
    memory: () => ask("memory"),
    forget: async () => {
      child.send({ kind: "forget" } satisfies Question);
      return (await nextAnswer(child, "forgotten", exited)).left;
    },
    stop: async () => {
      child.send({ kind: "stop" } satisfies Question);
      await exited;
      process.off("exit", endWithUs);
    },
  };
}

async function nextAnswer<Kind extends Answer["kind"]>(
  child: ChildProcess,
  kind: Kind,
  exited: Promise<unknown>,
): Promise<Extract<Answer, { kind: Kind }>> {
  const gone = exited.then(() => {
    throw new Error(`the server ended with ${child.signalCode ?? child.exitCode}`);
  });
  const [answer] = (await Promise.race([once(child, "message"), gone])) as [Answer];
  if (answer.kind !== kind) throw new Error(`asked for ${kind}, told of ${answer.kind}`);
  return answer as Extract<Answer, { kind: Kind }>;
}
