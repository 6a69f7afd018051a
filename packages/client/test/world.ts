/**
 * A transport in a world of its own: virtual time, a server that the test plays, and everything
 * that the application was told.
 */
import {
  type ClientState,
  type ContractReport,
  type Gap,
  memoryState,
  type Parked,
  type ResumableClientOptions,
  ResumableClientTransport,
  type SessionEnded,
  type UnknownOutcome,
} from "@holdfast/client";
import { type ScriptedFetch, type ScriptedRequest, scriptedFetch } from "./scripted-fetch.ts";
import { rest, type VirtualTime, virtualTime } from "./virtual-time.ts";

export interface Told {
  /** What the application got through `onmessage`. */
  readonly messages: AppMessage[];
  readonly gaps: Gap[];
  readonly unknown: UnknownOutcome[];
  readonly ended: SessionEnded[];
  readonly parked: Parked[];
  readonly contracts: ContractReport[];
  readonly errors: Error[];
  resumed: number;
}

export interface AppMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface World {
  readonly time: VirtualTime;
  readonly server: ScriptedFetch;
  readonly transport: ResumableClientTransport;
  readonly state: ClientState;
  readonly told: Told;
  /** The next request that nobody has answered; it must be there once everything rests. */
  next(): Promise<ScriptedRequest>;
  /** Nothing is asked of the server now. */
  quiet(): Promise<boolean>;
  /** Initialize, as SDK clients do; the standalone stream is answered 405. */
  connect(options?: ConnectOptions): Promise<void>;
  /** Send a request; `sent` settles as `send` does. */
  request(id: number, method: string, params?: object): { readonly sent: Promise<void> };
  call(id: number, name?: string): { readonly sent: Promise<void> };
  /** What the application got for one of its ids. */
  answersTo(id: number): AppMessage[];
}

export interface ConnectOptions {
  readonly sessionId?: string | null;
  readonly capability?: object;
  readonly result?: object;
  /** Leave the standalone GET to the test. */
  readonly isListening?: boolean;
}

export const holdfastCapability = {
  contract: 1,
  windowMs: 1_800_000,
  maxEvents: 10_000,
  maxBytes: 67_108_864,
  idleTtlMs: 1_800_000,
  retryMs: 1_000,
  heartbeatMs: 0,
  durability: "process",
};

export const withKeys = {
  ...holdfastCapability,
  idempotency: { header: "Idempotency-Key", ttlMs: 86_400_000 },
};

export const initializeParams = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "world", version: "1" },
};

export function initializeResult(capability?: object): object {
  const experimental = capability === undefined ? {} : { "dev.holdfast/resume": capability };
  return {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, experimental },
    serverInfo: { name: "played", version: "1" },
  };
}

export async function openWorld(
  options: ResumableClientOptions & { readonly time?: VirtualTime } = {},
): Promise<World> {
  const { time = virtualTime(), ...given } = options;
  const server = scriptedFetch();
  const state = given.state ?? memoryState();
  const told = nothingTold();
  const transport = new ResumableClientTransport("http://127.0.0.1:9/mcp", {
    fetch: server.fetch,
    ...given,
    state,
    onGap: (gap) => void told.gaps.push(gap),
    onUnknownOutcome: (outcome) => void told.unknown.push(outcome),
    onSessionEnded: (ended) => void told.ended.push(ended),
    onParked: (parked) => void told.parked.push(parked),
    onContract: (report) => void told.contracts.push(report),
    onResumed: () => {
      told.resumed += 1;
    },
    internals: {
      clock: time.clock,
      setTimer: time.setTimer,
      random: () => 0.5,
      ...given.internals,
    },
  });
  transport.onmessage = (message) => void told.messages.push(message as AppMessage);
  transport.onerror = (error) => void told.errors.push(error);
  await transport.start();

  const request: World["request"] = (id, method, params) => {
    const message = { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
    const sent = transport.send(message);
    // A test that expects a rejection awaits it; the others must not fall over it.
    sent.catch(() => {});
    return { sent };
  };
  const next = async () => {
    await rest();
    const [first] = server.open();
    if (first === undefined) throw new Error("nothing is asked of the server");
    return first;
  };
  const world: World = {
    ...{ time, server, transport, state, told, request, next },
    quiet: async () => {
      await rest();
      return server.open().length === 0;
    },
    connect: (how = {}) => connect(world, how),
    call: (id, name = "charge") => request(id, "tools/call", { name, arguments: {} }),
    answersTo: (id) => told.messages.filter((one) => one.id === id && one.method === undefined),
  };
  return world;
}

async function connect(world: World, how: ConnectOptions): Promise<void> {
  const { sessionId = "S1", capability, result, isListening = false } = how;
  world.request(0, "initialize", initializeParams);
  const asked = await world.next();
  const headers = sessionId === null ? {} : { "mcp-session-id": sessionId };
  const answer = result ?? initializeResult(capability);
  asked.respond(200, { jsonrpc: "2.0", id: asked.body.id, result: answer }, headers);
  await rest();
  const initialized = world.transport.send({
    jsonrpc: "2.0",
    method: "notifications/initialized",
  });
  (await world.next()).respond(202);
  await initialized;
  if (!isListening) (await world.next()).respond(405);
  await rest();
}

function nothingTold(): Told {
  return {
    ...{ messages: [], gaps: [], unknown: [], ended: [], parked: [], contracts: [], errors: [] },
    resumed: 0,
  };
}

export function resultFor(request: ScriptedRequest, result: unknown = { content: [] }): object {
  return { jsonrpc: "2.0", id: request.body.id, result };
}

export function progressFor(request: ScriptedRequest, progress: number): object {
  const { _meta } = Object(request.body.params) as { _meta?: { progressToken?: unknown } };
  const params = { progressToken: _meta?.progressToken ?? request.body.id, progress };
  return { jsonrpc: "2.0", method: "notifications/progress", params };
}

export function logMessage(data: unknown): object {
  return { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data } };
}
