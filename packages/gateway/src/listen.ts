/**
 * Listening for HTTP: limits in time on what comes in, plain answers to what is no HTTP. What a
 * request means is its handler's business.
 *
 * There is no limit in time on a response: a viewport may be open for days.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { HoldfastError, refusalBody } from "@holdfast/contract";
import { settlesWithin } from "./settles-within.ts";

export interface ListenSettings {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly requests: RequestLimits;
  /** What finds a free port: `--port 0`. */
  readonly freePort?: string;
}

/** Limits in time on a request, milliseconds [C P-02]. */
export interface RequestLimits {
  readonly headersMs: number;
  /** Headers and body. At least `headersMs`. */
  readonly wholeRequestMs: number;
  /** Between two requests on a connection. */
  readonly keepAliveMs: number;
}

export interface Listener {
  /** `http://127.0.0.1:8848`, without a path. */
  readonly origin: string;
  readonly port: number;
  /** Go on, but end each connection with its next response: clients come back elsewhere. */
  drain(): void;
  /** Take no new connection; the idle ones are closed. Open responses go on. */
  stop(): void;
  /**
   * Stop, and close every connection there is. Resolves when all are gone.
   *
   * @param lingerMs - how long responses that are open may take to end
   */
  close(lingerMs: number): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Begin to listen.
 *
 * @throws {@link HoldfastError} `ERR_OPTION`: the port is taken, or the address is not ours
 */
export async function listen(settings: ListenSettings, handler: Handler): Promise<Listener> {
  const server = createServer(serverOptions(settings.requests));
  const answering = new WeakMap<Duplex, ServerResponse>();
  const open = new OpenResponses();
  let isDraining = false;
  server.on("request", (request, response) => {
    answering.set(request.socket, response);
    open.add(response);
    if (isDraining) response.shouldKeepAlive = false;
    handler(request, response);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    refuse(error, socket, answering.get(socket));
  });
  // [C D-03] A tunnel is refused like every other method; without a listener it is hung up on.
  server.on("connect", (_request, socket) => {
    const message = "The endpoint takes GET, POST, DELETE, OPTIONS.";
    answer(socket, "405 Method Not Allowed", refusalBody("method-not-allowed", { message }));
  });
  await bind(server, settings);
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  return {
    origin: `http://${host}:${port}`,
    port,
    drain: () => {
      isDraining = true;
    },
    stop: () => void server.close(),
    close: async (lingerMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await settlesWithin(open.allOver(), lingerMs);
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Begin to listen on this port, or on a free one where it is in use: two gateways on one machine.
 *
 * @returns `insteadOf`: the port that was in use
 * @throws as {@link listen}, but not for a port in use
 */
export async function listenOrFree(
  settings: ListenSettings,
  handler: Handler,
): Promise<{ readonly listener: Listener; readonly insteadOf?: number }> {
  try {
    return { listener: await listen(settings, handler) };
  } catch (error) {
    const cause = error instanceof HoldfastError ? error.cause : undefined;
    if ((cause as NodeJS.ErrnoException | undefined)?.code !== "EADDRINUSE") throw error;
    return { listener: await listen({ ...settings, port: 0 }, handler), insteadOf: settings.port };
  }
}

function serverOptions({ headersMs, wholeRequestMs, keepAliveMs }: RequestLimits): ServerOptions {
  return {
    headersTimeout: headersMs,
    requestTimeout: wholeRequestMs,
    keepAliveTimeout: keepAliveMs,
    // So late a request may be found to be late.
    connectionsCheckingInterval: Math.min(Math.max(headersMs / 5, checkMs.min), checkMs.max),
    // [C D-04] The handler answers a missing Host as it answers a wrong one.
    requireHostHeader: false,
  };
}

/** Pause between two looks at requests that may be late, milliseconds. */
const checkMs = { min: 10, max: 2000 } as const;

class OpenResponses {
  #count = 0;
  #onNone: (() => void)[] = [];

  add(response: ServerResponse): void {
    this.#count++;
    response.once("close", () => {
      this.#count--;
      if (this.#count === 0) for (const resolve of this.#onNone.splice(0)) resolve();
    });
  }

  /** Resolves when none is open. */
  async allOver(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#onNone.push(resolve));
  }
}

async function bind(server: Server, settings: ListenSettings): Promise<void> {
  const { host, port } = settings;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(bindError(error, settings)));
    server.listen({ host, port }, resolve);
  });
}

function bindError(
  error: NodeJS.ErrnoException,
  { host, port, freePort = "--port 0" }: ListenSettings,
): HoldfastError {
  const cause = { cause: error };
  switch (error.code) {
    case "EADDRINUSE": {
      const hint = `Stop what listens there, or take another port: ${freePort} finds a free one.`;
      return new HoldfastError("ERR_OPTION", `Port ${port} on ${host} is in use.`, {
        hint,
        ...cause,
      });
    }
    case "EACCES": {
      const hint = "Take a port above 1023, or give the process the right.";
      const problem = `Port ${port} on ${host} may not be used by this user.`;
      return new HoldfastError("ERR_OPTION", problem, { hint, ...cause });
    }
    default: {
      const hint = "Give an address of this machine: --host 127.0.0.1, or 0.0.0.0 for all.";
      const problem = `It is not possible to listen on ${host}: ${error.message}.`;
      return new HoldfastError("ERR_OPTION", problem, { hint, ...cause });
    }
  }
}

/** Answer what could not be read as a request, or not in time, and hang up. */
function refuse(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  response: ServerResponse | undefined,
): void {
  // Into a response that has begun, a second status line would go as its content.
  const hasBegun = response?.headersSent && !response.writableFinished;
  if (!socket.writable || error.code === "ECONNRESET" || hasBegun) {
    socket.destroy();
    return;
  }
  const [status, message] = answers[error.code ?? ""] ?? [
    "400 Bad Request",
    "This is no HTTP request that can be read.",
  ];
  // [C D-03] always a JSON body that says what was wrong
  const body = refusalBody("unreadable-request", { message, data: { notRun: true } });
  answer(socket, status, body);
}

/** Say it, and hang up. */
function answer(socket: Duplex, status: string, body: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  // Destroyed at once, what the client still sends would take the answer away from it.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** How long an answer to what is no request may take to leave, milliseconds. */
const lingerMs = 1000;

const answers: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "The headers of the request are too large.",
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request did not arrive in time."],
};
