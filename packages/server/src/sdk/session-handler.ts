/**
 * SDK servers behind the session runtime: each session gets a server of its own, in this process.
 */
import { HoldfastError } from "@holdfast/contract";
import type { RuntimeOptions } from "../options.ts";
import { createSessionRuntime, type RuntimeParts, type SessionRuntime } from "../runtime.ts";
import type { UpstreamFactory, UpstreamSession } from "../upstream.ts";
import type { SdkServer } from "./sdk-types.ts";
import { connectServer, eventBytesMaxDefault } from "./session-transport.ts";

/** The session that a server is made for. */
export interface ServedSession {
  /** What `Mcp-Session-Id` names. A secret: it opens the session to whoever has it. */
  readonly sessionId: string;
  /** What stands for it in event ids and logs. */
  readonly tag: string;
  /** Whose it is; empty where nobody is asked. */
  readonly principal: string;
  /** `initialize` as the client sent it: its name, version, capabilities. */
  readonly client: ServedClient;
  /** Set for a session that goes on: the server takes the place of an earlier one [C S-07]. */
  readonly restored: RestoredState | undefined;
}

export interface ServedClient {
  readonly clientInfo: { readonly name?: string; readonly version?: string };
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** What the server hears again, once it is connected. */
export interface RestoredState {
  readonly protocolVersion: string;
  readonly logLevel: string | undefined;
  /** URIs of resources. */
  readonly subscriptions: readonly string[];
}

export interface SessionHandlerParts extends Omit<RuntimeParts, "upstream" | "options"> {
  /**
   * Make the server of a session: `McpServer` or `Server` of SDK v1 or v2, or anything else with
   * `connect(transport)`. A fresh one each time: a session whose process died gets another, which
   * hears `initialize`, the log level and the subscriptions of the client again [C S-07].
   */
  readonly createServer: (session: ServedSession) => SdkServer | Promise<SdkServer>;
  readonly options?: Partial<Omit<RuntimeOptions, "forwardHeaders">>;
  /** Largest message that is taken from a server, bytes. Default: 32 MiB. */
  readonly eventBytesMax?: number;
}

/**
 * Put sessions that survive disconnects in front of SDK servers.
 *
 *     const sessions = createSessionHandler({ log, createServer: () => buildMcpServer() });
 *     http.createServer(sessions.node).listen(3000);
 *
 * @throws {@link HoldfastError} `ERR_RETENTION` for a window that clients could miss [C W-02]
 */
export function createSessionHandler(parts: SessionHandlerParts): SessionRuntime {
  const { createServer, eventBytesMax = eventBytesMaxDefault, ...rest } = parts;
  const upstream = sdkUpstreams(createServer, eventBytesMax);
  const options = { ...rest.options, forwardHeaders: "all" } as const;
  return createSessionRuntime({ ...rest, options, upstream });
}

function sdkUpstreams(
  createServer: SessionHandlerParts["createServer"],
  eventBytesMax: number,
): UpstreamFactory {
  return {
    start: async (session, events) => {
      try {
        const server = await createServer(servedSession(session));
        return await connectServer(server, events, { sessionId: session.id, eventBytesMax });
      } catch (error) {
        throw new HoldfastError("ERR_UPSTREAM_START", "The server of a session was not made.", {
          hint: "See what createServer, or connect of the server that it returned, has thrown.",
          cause: error,
        });
      }
    },
  };
}

function servedSession({ id, tag, principal, setup }: UpstreamSession): ServedSession {
  const { clientInfo = {}, capabilities = {} } = paramsOf<ServedClient>(setup.initialize);
  const client = { clientInfo, capabilities };
  return { ...{ sessionId: id, tag, principal, client }, restored: restoredState(setup) };
}

function restoredState(setup: UpstreamSession["setup"]): RestoredState | undefined {
  const { version, level, subscriptions } = setup;
  if (version === undefined) return undefined;
  return {
    protocolVersion: version,
    logLevel: level === undefined ? undefined : paramsOf<{ level: string }>(level).level,
    subscriptions: Object.keys(subscriptions),
  };
}

/** Of a request of the client, JSON text. */
function paramsOf<Params extends object>(text: string): Partial<Params> {
  return (JSON.parse(text) as { params?: Params }).params ?? {};
}
