/**
 * MCP servers in this process, played by the test: one for each start that the runtime asks for.
 *
 *     const upstream = await bench.upstreams.next();
 *     const call = await upstream.request("tools/call");
 *     call.answer({ content: [] });
 *
 * A scripted upstream answers `initialize` and `ping` by itself (as `respond` says); everything
 * else waits in its inbox until the test takes it.
 */
import type { RpcMessage } from "../event-stream.ts";
import { within } from "../wait-for.ts";
import type { FaceUpstreamEvents, FaceUpstreamFactory } from "./face.ts";

/** A message that reached an upstream. */
export interface Arrival {
  /** Byte for byte. */
  readonly text: string;
  readonly message: RpcMessage;
}

/** A request that reached an upstream, under the number that the runtime gave it. */
export interface ArrivedRequest extends Arrival {
  readonly id: number;
  /** Answer it with a result, or with an error. */
  answer(result: unknown): void;
  fail(error: { readonly code: number; readonly message: string; readonly data?: unknown }): void;
  /** Report progress under its token, which must have been asked for. */
  progress(progress: number): void;
}

export interface ScriptedUpstream {
  /** Tag of the session that it was started for: the first part of the session's event ids. */
  readonly tag: string;
  /** Everything that arrived, in order, text as it came. */
  readonly arrivals: readonly Arrival[];
  /** Take the first arrival that `matches` and was not taken before; others stay. */
  take(matches?: (message: RpcMessage) => boolean): Promise<Arrival>;
  /** Take the first request of this method (of any, when left out). */
  request(method?: string): Promise<ArrivedRequest>;
  /** Take the first notification of this method. */
  notification(method: string): Promise<Arrival>;
  /** Say this, byte for byte. @returns a promise when the log is behind, as the runtime gave it */
  emit(text: string, related?: number | null): Promise<void> | undefined;
  /** The reader of a request's stream, or of the standalone one, may go. */
  letGo(related: number | null): void;
  /** Say this message. */
  say(message: object): void;
  /** It ends by itself. */
  die(reason?: string): void;
  /** From now on nothing is read: what is sent stays pending. */
  stopReading(): void;
  /** Read again; what was pending arrives. */
  readOn(): void;
  /** Resolves once the runtime has closed it. */
  readonly closed: Promise<void>;
  readonly isClosed: boolean;
}

/** @returns the `result` of an answer; `undefined` leaves the request to the test */
export type Respond = (request: RpcMessage, upstream: ScriptedUpstream) => object | undefined;

export interface ScriptedUpstreams {
  readonly factory: FaceUpstreamFactory;
  /** All that were started, in order, the dead ones too. */
  readonly all: readonly ScriptedUpstream[];
  /** The next started upstream that was not taken by `next` or `of` before. */
  next(): Promise<ScriptedUpstream>;
  /** The next started upstream of this session's tag. */
  of(tag: string): Promise<ScriptedUpstream>;
  /** What is answered without the test; set it to script servers of another kind. */
  respond: Respond;
  /** Starts fail with this message from now on; `undefined`: they work again. */
  startFailure: string | undefined;
  /** Nothing reaches those that were started so far any more; nobody is told. */
  cutOff(): void;
}

/** `initialize` is answered in the version asked for, `ping` by nothing special. */
export const respondToSetup: Respond = (request) => {
  if (request.method === "initialize") return serverHello(request.params?.["protocolVersion"]);
  return request.method === "ping" ? {} : undefined;
};

/** The result of an `initialize`, in this version. */
export function serverHello(protocolVersion: unknown): object {
  return {
    protocolVersion,
    capabilities: { logging: {}, tools: { listChanged: true } },
    serverInfo: { name: "scripted", version: "1.0.0" },
  };
}

export function scriptedUpstreams(): ScriptedUpstreams {
  const all: ScriptedUpstream[] = [];
  const started = inbox<ScriptedUpstream>("a started upstream");
  const cuts: (() => void)[] = [];
  const upstreams: ScriptedUpstreams = {
    all,
    respond: respondToSetup,
    startFailure: undefined,
    next: () => started.take(() => true),
    of: (tag) => started.take((upstream) => upstream.tag === tag),
    cutOff: () => {
      for (const cut of cuts.splice(0)) cut();
    },
    factory: {
      start: async ({ tag }, events) => {
        if (upstreams.startFailure !== undefined) throw new Error(upstreams.startFailure);
        const played = playUpstream(tag, events, () => upstreams.respond);
        all.push(played.scripted);
        cuts.push(played.cutOff);
        started.add(played.scripted);
        return played.upstream;
      },
    },
  };
  return upstreams;
}

function playUpstream(tag: string, events: FaceUpstreamEvents, respond: () => Respond) {
  const arrivals: Arrival[] = [];
  const untaken = inbox<Arrival>("a message at the upstream");
  const closed = Promise.withResolvers<void>();
  const state = { isClosed: false, isDead: false };
  let gate = Promise.resolve();
  let openGate = () => {};

  const emit = (text: string, related?: number | null) => events.onMessage(text, related);
  const say = (message: object) => void emit(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const arrive = (text: string) => {
    const message = JSON.parse(text) as RpcMessage;
    const arrival = { text, message };
    arrivals.push(arrival);
    const isRequest = message.method !== undefined && message.id !== undefined;
    const result = isRequest ? respond()(message, scripted) : undefined;
    if (result === undefined) untaken.add(arrival);
    else say({ id: message.id, result });
  };
  const scripted: ScriptedUpstream = {
    ...{ tag, arrivals, emit, say, closed: closed.promise },
    letGo: (related) => events.onLetGo(related),
    take: (matches = () => true) => untaken.take(({ message }) => matches(message)),
    notification: (method) =>
      untaken.take(({ message }) => message.method === method && message.id === undefined),
    request: async (method) => {
      const arrival = await untaken.take(
        ({ message }) =>
          message.id !== undefined &&
          message.method !== undefined &&
          (method === undefined || message.method === method),
      );
      return arrivedRequest(arrival, say);
    },
    die: (reason = "exited with code 1") => {
      state.isDead = true;
      events.onExit(reason);
    },
    stopReading: () => {
      gate = new Promise((resolve) => {
        openGate = resolve;
      });
    },
    readOn: () => openGate(),
    get isClosed() {
      return state.isClosed;
    },
  };
  const upstream = {
    send: async (text: string) => {
      await gate;
      if (state.isDead || state.isClosed) throw new Error("the upstream is gone");
      arrive(text);
    },
    close: async () => {
      state.isClosed = true;
      openGate();
      closed.resolve();
    },
  };
  const cutOff = () => {
    state.isDead = true;
  };
  return { scripted, upstream, cutOff };
}

function arrivedRequest(arrival: Arrival, say: (message: object) => void): ArrivedRequest {
  const { id, params } = arrival.message;
  const meta = params?.["_meta"] as { readonly progressToken?: unknown } | undefined;
  return {
    ...arrival,
    id: id as number,
    answer: (result) => say({ id, result }),
    fail: (error) => say({ id, error }),
    progress: (progress) => {
      const progressToken = meta?.progressToken;
      say({ method: "notifications/progress", params: { progressToken, progress } });
    },
  };
}

/** Values that wait to be taken, and takers that wait for values. */
function inbox<T>(what: string) {
  const values: T[] = [];
  const takers: { readonly matches: (value: T) => boolean; readonly give: (value: T) => void }[] =
    [];
  return {
    add: (value: T) => {
      const at = takers.findIndex(({ matches }) => matches(value));
      if (at < 0) values.push(value);
      else takers.splice(at, 1)[0]?.give(value);
    },
    take: (matches: (value: T) => boolean): Promise<T> => {
      const at = values.findIndex(matches);
      if (at >= 0) return Promise.resolve(values.splice(at, 1)[0] as T);
      const given = new Promise<T>((give) => takers.push({ matches, give }));
      return within(given, what);
    },
  };
}
