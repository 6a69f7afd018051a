/** `holdfast serve` in front of worker-server.ts, and what its calls have done. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  acceptBoth,
  answerOf,
  openEventStream,
  type RawSession,
  type RpcMessage,
} from "@holdfast/testkit";
import { type GatewayProcess, scratchDirectory, startGateway } from "./gateway-process.ts";

const script = fileURLToPath(new URL("./worker-server.ts", import.meta.url));

export interface WorkerGateway {
  readonly url: string;
  readonly process: GatewayProcess;
  /** Where it listens, for a proxy in front. */
  readonly target: { readonly host: string; readonly port: number };
  /** How often this line was noted as an effect. */
  effects(line: string): number;
}

export interface WorkerOptions {
  /** The protocol version that the upstream insists on. */
  readonly upstreamVersion?: string;
}

/** @param options - of `holdfast serve` */
export async function serveWorker(
  options: readonly string[] = [],
  { upstreamVersion }: WorkerOptions = {},
): Promise<WorkerGateway> {
  const directory = scratchDirectory();
  const file = join(directory, "effects");
  const command = [process.execPath, script, file, ...(upstreamVersion ? [upstreamVersion] : [])];
  const gateway = await startGateway(["serve", ...options, "--", ...command], directory);
  const { hostname, port } = new URL(gateway.url);
  return {
    ...{ url: gateway.url, process: gateway, target: { host: hostname, port: Number(port) } },
    effects: (line) => {
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
      return lines.filter((one) => one === line).length;
    },
  };
}

/** Call a tool of the worker by hand, to its end. @returns its text */
export async function workerCall(
  session: Pick<RawSession, "call">,
  name: string,
  args: object,
): Promise<string> {
  return textOf(await answerOf(await session.call(name, args)));
}

/**
 * Call a tool in the session of another client, past whatever is in front of that one.
 *
 * @returns its text
 */
export async function callIn(
  url: string,
  sessionId: string,
  name: string,
  args: object,
): Promise<string> {
  const params = { name, arguments: args };
  const stream = await openEventStream({
    ...{ url, method: "POST" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "aside", method: "tools/call", params }),
    headers: {
      accept: acceptBoth,
      "content-type": "application/json",
      "mcp-session-id": sessionId,
    },
  });
  return textOf(await answerOf(stream));
}

/** The text of a tool's result. @throws Error when there is none */
export function textOf(message: RpcMessage): string {
  const [block] = (message.result?.content ?? []) as readonly { readonly text?: string }[];
  if (block?.text === undefined) throw new Error(`no text: ${JSON.stringify(message)}`);
  return block.text;
}

/** The steps of all progress events, as they came. */
export function stepsOf(messages: readonly RpcMessage[]): unknown[] {
  return messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => params?.progress);
}

/** The numbers of all ticks, as they came. */
export function ticksOf(messages: readonly RpcMessage[]): number[] {
  return messages.flatMap(({ params }) => tickNumber(String(params?.uri)) ?? []);
}

/** @returns the number in `tick://7`; `undefined` for another URI */
export function tickNumber(uri: string): number | undefined {
  const number = /^tick:\/\/(\d+)$/.exec(uri)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** first, first + 1 … last */
export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
