/**
 * SDK servers behind the session runtime: each session gets a server of its own, in this process.
 */
import { HoldfastError } from "@holdfast/contract";
import type { RuntimeOptions } from "../options.ts";
import { createSessionRuntime, type RuntimeParts, type SessionRuntime } from "../runtime.ts";
import type { UpstreamFactory } from "../upstream.ts";
import type { SdkServer } from "./sdk-types.ts";
import { connectServer, eventBytesMaxDefault } from "./session-transport.ts";

/** The session that a server is made for. */
export interface ServedSession {
  /** What stands for the session in event ids and logs. */
  readonly tag: string;
}

export interface SessionHandlerParts extends Omit<RuntimeParts, "upstream" | "options"> {
  /**
   * Make the server of a session: `McpServer` or `Server` of SDK v1 or v2, or anything else with
   * `connect(transport)`. A fresh one each time: a session whose process died gets another, which
   * hears `initialize`, the log level and the subscriptions of the client again [C S-07].
   */
  readonly createServer: (session: ServedSession) => SdkServer | Promise<SdkServer>;
  readonly options?: Partial<RuntimeOptions>;
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
  return createSessionRuntime({ ...rest, upstream: sdkUpstreams(createServer, eventBytesMax) });
}

function sdkUpstreams(
  createServer: SessionHandlerParts["createServer"],
  eventBytesMax: number,
): UpstreamFactory {
  return {
    start: async ({ tag }, events) => {
      try {
        const server = await createServer({ tag });
        return await connectServer(server, events, { sessionId: undefined, eventBytesMax });
      } catch (error) {
        throw new HoldfastError("ERR_UPSTREAM_START", "The server of a session was not made.", {
          hint: "See what createServer, or connect of the server that it returned, has thrown.",
          cause: error,
        });
      }
    },
  };
}
