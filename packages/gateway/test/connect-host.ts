/** A host driven by hand, with `holdfast connect` as its server command; for the tests beside. */
import { join } from "node:path";
import type { RpcMessage, SpawnedProcess } from "@holdfast/testkit";
import { holdfast, scratchDirectory } from "./gateway-process.ts";
import { textOf } from "./worker.ts";

export interface StdioHost {
  readonly process: SpawnedProcess;
  send(message: object | string): void;
  notify(method: string, params?: object): void;
  /** Send a request. @returns its id */
  start(method: string, params?: object): number;
  /** Send `tools/call`, with its id as progress token. */
  startTool(name: string, args: object): number;
  answer(id: number): Promise<RpcMessage>;
  request(method: string, params?: object): Promise<RpcMessage>;
  /** Call a tool to its end. @returns its text */
  call(name: string, args: object): Promise<string>;
  /** The first message, past ones included, whose text matches. */
  message(pattern: RegExp): Promise<RpcMessage>;
  /** Wait for a notice of this `data.type`. @returns its data */
  notice(type: string): Promise<Readonly<Record<string, unknown>>>;
  /** Everything on stdout. @throws SyntaxError for a line that is no JSON */
  messages(): RpcMessage[];
  /** How many answers this id has. */
  answers(id: number): number;
  /** The progress of a call started by {@link startTool}. */
  steps(id: number): unknown[];
  /** `initialize` and `notifications/initialized`. @returns the answer */
  initialize(params?: object): Promise<RpcMessage>;
}

export interface HostOptions {
  /** Of the command. */
  readonly options?: readonly string[];
  /** Default: a state of its own. Null: where the command puts it. */
  readonly state?: string | null;
  readonly firstId?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Comes back at once, and gives up soon. */
export const quickly = [
  ...["--reconnect-initial", "20ms", "--reconnect-max", "100ms"],
  ...["--reconnect-attempts", "1000", "--reconnect-budget", "20s"],
];

export const capabilities = { sampling: {}, elicitation: {}, roots: {} };
export const initializeParams = {
  protocolVersion: "2025-11-25",
  capabilities,
  clientInfo: { name: "host", version: "1.0.0" },
};

export function stateFile(): string {
  return join(scratchDirectory(), "state.db");
}

export async function startHost(
  url: string,
  { options = quickly, state = stateFile(), firstId = 1, env = {} }: HostOptions = {},
): Promise<StdioHost> {
  const kept = state === null ? [] : ["--state", state];
  const args = ["connect", ...kept, ...options, url];
  return hostOf(await holdfast(args, undefined, env), firstId);
}

function hostOf(process: SpawnedProcess, firstId: number): StdioHost {
  let nextId = firstId;
  const send = (message: object | string) =>
    process.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  const messages = () =>
    process.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as RpcMessage);
  const message = async (pattern: RegExp) => {
    // Lines of the log are on stderr, and have no such member.
    const { source } = pattern;
    const whole = `^(?=[^\\n]*"jsonrpc":"2\\.0")[^\\n]*(?:${source})[^\\n]*$`;
    const line = await process.line(new RegExp(whole));
    return JSON.parse(line[0]) as RpcMessage;
  };
  const host: StdioHost = {
    process,
    send,
    notify: (method, params = {}) => send({ jsonrpc: "2.0", method, params }),
    start: (method, params = {}) => {
      const id = nextId++;
      send({ jsonrpc: "2.0", id, method, params });
      return id;
    },
    startTool: (name, args) => {
      const _meta = { progressToken: nextId };
      return host.start("tools/call", { name, arguments: args, _meta });
    },
    answer: (id) => message(new RegExp(`"id":${id},"(?:result|error)"`)),
    request: (method, params) => host.answer(host.start(method, params)),
    call: async (name, args) => textOf(await host.answer(host.startTool(name, args))),
    message,
    notice: async (type) => {
      const found = await message(new RegExp(`"logger":"holdfast","data":\\{"type":"${type}"`));
      return found.params?.data as Readonly<Record<string, unknown>>;
    },
    messages,
    answers: (id) => messages().filter((one) => one.id === id && one.method === undefined).length,
    steps: (id) =>
      messages()
        .filter(({ params }) => params?.progressToken === id)
        .map(({ params }) => params?.progress),
    initialize: async (params = initializeParams) => {
      const answer = await host.request("initialize", params);
      host.notify("notifications/initialized");
      return answer;
    },
  };
  return host;
}
