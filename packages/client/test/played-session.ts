/**
 * A raw server that plays one session the way the test says: initialize and the standalone GET are
 * answered as usual, calls and resumes are the test's.
 */
import { type RawRequest, type RawServer, rawServer } from "./raw-server.ts";
import { initializeResult } from "./world.ts";

export interface Play {
  /** The n-th `tools/call`, from 0; 404 is left to `sessionOf`. */
  readonly call: (request: RawRequest, n: number) => void | Promise<void>;
  /** The n-th GET with a cursor. */
  readonly resume?: (request: RawRequest, n: number) => void | Promise<void>;
  /** The GET without a cursor; default 405. */
  readonly standalone?: (request: RawRequest) => void;
  readonly capability?: object;
  /** The id of the n-th session, from 0; default `S` and its number. */
  readonly isKnown?: (sessionId: string | undefined) => boolean;
}

export interface PlayedServer extends RawServer {
  count(method: string): number;
}

export async function playedSession(play: Play): Promise<PlayedServer> {
  const counts = { calls: 0, resumes: 0, sessions: 0 };
  const server = await rawServer((request) => {
    const { method, headers, body } = request;
    if (body.method === "initialize") {
      const answer = { jsonrpc: "2.0", id: body.id, result: initializeResult(play.capability) };
      const named = { "content-type": "application/json", "mcp-session-id": `S${counts.sessions}` };
      counts.sessions += 1;
      return request.respond(200, JSON.stringify(answer), named);
    }
    if (play.isKnown?.(headers["mcp-session-id"]) === false) return request.respond(404);
    if (method === "GET" && headers["last-event-id"] === undefined) {
      return play.standalone === undefined ? request.respond(405) : play.standalone(request);
    }
    if (method === "GET") return play.resume?.(request, counts.resumes++);
    if (body.method === "tools/call") return play.call(request, counts.calls++);
    return request.respond(202);
  });
  const count = (method: string) =>
    server.requests.filter((one) => (one.body.method ?? one.method) === method).length;
  return { ...server, count };
}

export function textOf(events: readonly EventOf[]): string {
  return events.map(({ id, message }) => `id: ${id}\ndata: ${message}\n\n`).join("");
}

export interface EventOf {
  readonly id: string;
  /** JSON; empty for a priming event. */
  readonly message: string;
}

/** A call's stream: a priming event, some notifications, the result. */
export function eventsOf(request: RawRequest, notifications = 2, result: object = {}): EventOf[] {
  const { id } = request.body;
  const notes = Array.from({ length: notifications }, (_, n) =>
    JSON.stringify({
      ...{ jsonrpc: "2.0", method: "notifications/message" },
      params: { level: "info", data: n + 1 },
    }),
  );
  const texts = ["", ...notes, JSON.stringify({ jsonrpc: "2.0", id, result })];
  return texts.map((message, n) => ({ id: `c${n}`, message }));
}

/** What comes after the cursor that a request shows. */
export function after(events: readonly EventOf[], request: RawRequest): EventOf[] {
  const at = events.findIndex(({ id }) => id === request.headers["last-event-id"]);
  return events.slice(at + 1);
}
