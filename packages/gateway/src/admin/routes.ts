/**
 * The admin port, request by request: page, metrics, health, and the JSON API of page and command.
 *
 * It has checks of its own in front: Host against an allow-list and Origin against that Host, so
 * that no other page can reach it through the user's browser [C P-01]; the API wants a token where
 * there is one. Ids of sessions go in, never out [C P-03].
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { encodeEventId } from "@holdfast/contract";
import type {
  EventsAnswer,
  OverviewAnswer,
  SessionAnswer,
  SessionsAnswer,
} from "@holdfast/dashboard/model";
import type { Logger, SessionRuntime } from "@holdfast/server";
import {
  checkAccess,
  type Headers,
  type HttpReply,
  type HttpRequest,
  nodeReply,
  nodeRequest,
  type Rejection,
  reject,
  sendRejection,
} from "@holdfast/server/http";
import type { History } from "./history.ts";
import { type Metrics, metricsType } from "./metrics.ts";
import type { PageFile } from "./page-files.ts";

export interface AdminParts {
  readonly runtime: Pick<
    SessionRuntime,
    "inspection" | "facts" | "health" | "callCount" | "viewportCount"
  >;
  readonly history: History;
  readonly metrics: Metrics;
  readonly page: ReadonlyMap<string, PageFile>;
  readonly logger: Logger;
  /** Hosts that are answered, beside loopback. */
  readonly hosts: readonly string[];
  /** Without one, the API is open to whoever reaches the port. */
  readonly token: string | undefined;
  readonly showsBodies: boolean;
  /** What stays the same in the overview. */
  readonly about: Pick<
    OverviewAnswer,
    "version" | "url" | "log" | "startedAtMs" | "clientReconnectMs"
  >;
  /** Live sessions in the log. @throws what the log throws */
  liveSessions(): Promise<number>;
}

const common: Headers = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  // Nothing from elsewhere, and nowhere to be framed.
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

interface Exchange {
  readonly parts: AdminParts;
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly query: URLSearchParams;
}

/** Answered (undefined), or refused. */
type Handled = Promise<Rejection | undefined>;

export function adminHandler(
  parts: AdminParts,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    const request = nodeRequest(req);
    const reply = nodeReply(req, res);
    const [, query = ""] = (req.url ?? "").split("?", 2);
    dispatch({ parts, request, reply, query: new URLSearchParams(query) })
      .catch((error: unknown) => {
        parts.logger.error({ error, path: request.path.slice(0, 40) }, "an admin request failed");
        return reject("store-unavailable", "The event log does not answer now; try again.");
      })
      .then((rejection) => {
        if (rejection !== undefined) sendRejection(reply, rejection, false, common);
      })
      .catch(() => res.destroy());
  };
}

async function dispatch(exchange: Exchange): Handled {
  const { parts, request } = exchange;
  const denied = checkAccess(request, { hosts: parts.hosts, origins: [] }) ?? checkOrigin(request);
  if (denied !== undefined) return denied;
  const [area = "", ...names] = request.path.slice(1).split("/").map(decoded);
  if (area === "api") return serveApi(exchange, names);
  if (request.method !== "GET") return wrongMethod("GET");
  switch (request.path) {
    case "/healthz":
      return sendText(exchange, 200, "text/plain; charset=utf-8", "alive\n");
    case "/readyz":
      return serveReadiness(exchange);
    case "/metrics":
      return sendText(exchange, 200, metricsType, await parts.metrics.scrape());
  }
  return servePage(exchange);
}

/** A page of another port of this machine is another's page. */
function checkOrigin(request: HttpRequest): Rejection | undefined {
  const origin = request.header("origin");
  if (origin === undefined) return undefined;
  const [host = ""] = request.hosts();
  if (URL.canParse(origin) && new URL(origin).host === host.toLowerCase()) return undefined;
  const message = `Pages of ${JSON.stringify(origin)} may not use the admin port.`;
  return reject("origin-not-allowed", message);
}

async function serveApi(exchange: Exchange, names: readonly string[]): Handled {
  const { parts, request } = exchange;
  const [area, name, more, stream, events] = names;
  if (!isTokenRight(request.header("authorization"), parts.token)) {
    return reject("unauthorized", "This needs the token of --admin-token.", {
      headers: { "www-authenticate": 'Bearer realm="holdfast admin"' },
    });
  }
  const isRead = request.method === "GET";
  if (area === "sessions" && name !== undefined && more === undefined) {
    if (request.method === "DELETE") return endSession(exchange, name);
    return isRead ? showSession(exchange, name) : wrongMethod("GET, DELETE");
  }
  if (!isRead) return wrongMethod("GET");
  switch (names.length === 1 ? area : undefined) {
    case "overview":
      return showOverview(exchange);
    case "sessions":
      return listSessions(exchange);
    case "feed":
      return parts.history.feed.serve(request, exchange.reply, common);
  }
  if (area === "sessions" && more === "streams" && events === "events" && name !== undefined) {
    return showEvents(exchange, name, Number(stream));
  }
  return notFound();
}

/** Compared by digests: neither length nor place of a difference shows in the time it takes. */
function isTokenRight(header: string | undefined, token: string | undefined): boolean {
  if (token === undefined) return true;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}

async function showOverview(exchange: Exchange): Handled {
  const { runtime, about, showsBodies, liveSessions } = exchange.parts;
  const { isDraining, isLogReady } = await runtime.health();
  const answer: OverviewAnswer = {
    ...runtime.facts(),
    ...about,
    ...{ isDraining, showsBodies, isReady: isLogReady && !isDraining, nowMs: Date.now() },
    sessions: await liveSessions().catch(() => null),
    viewports: runtime.viewportCount(),
    callsInFlight: runtime.callCount(),
  };
  return sendJson(exchange, answer);
}

async function listSessions(exchange: Exchange): Handled {
  const { runtime } = exchange.parts;
  // The cursor first: what happens while the list is made comes again in the feed.
  const cursor = await cursorOf(exchange.parts);
  const list = await runtime.inspection.list();
  return sendJson(exchange, { ...list, cursor } satisfies SessionsAnswer);
}

async function showSession(exchange: Exchange, name: string): Handled {
  const { runtime, history } = exchange.parts;
  await history.flush();
  const cursor = await cursorOf(exchange.parts);
  const session = await runtime.inspection.show(name);
  if (session === undefined) return noSession();
  const answer: SessionAnswer = { session, history: await history.of(session.tag), cursor };
  return sendJson(exchange, answer);
}

async function cursorOf({ history }: AdminParts): Promise<string> {
  return encodeEventId(await history.feed.head());
}

async function showEvents(exchange: Exchange, name: string, stream: number): Handled {
  const { runtime, showsBodies } = exchange.parts;
  const after = Number(exchange.query.get("after") ?? 0);
  if (!Number.isSafeInteger(stream) || !Number.isSafeInteger(after)) return notFound();
  const events = await runtime.inspection.events(name, stream, after);
  if (events === undefined) return noSession();
  const answer: EventsAnswer = {
    events: events.map(({ place, kind, text }) => ({
      ...{ position: place.position, kind, bytes: Buffer.byteLength(text) },
      ...(showsBodies ? { text } : {}),
    })),
  };
  return sendJson(exchange, answer);
}

async function endSession(exchange: Exchange, name: string): Handled {
  if (!(await exchange.parts.runtime.inspection.end(name))) return noSession();
  exchange.reply.send(204, common);
  return undefined;
}

async function serveReadiness(exchange: Exchange): Handled {
  const { isDraining, isLogReady } = await exchange.parts.runtime.health();
  const isReady = isLogReady && !isDraining;
  const body = JSON.stringify({ isReady, isDraining, isLogReady });
  return sendText(exchange, isReady ? 200 : 503, "application/json", body);
}

async function servePage({ parts, request, reply }: Exchange): Handled {
  const file = parts.page.get(request.path);
  if (file === undefined) return notFound();
  const headers = { ...common, "content-type": file.type };
  reply.send(200, headers, Buffer.from(file.bytes).toString("utf8"));
  return undefined;
}

async function sendText(
  { reply }: Exchange,
  status: number,
  type: string,
  body: string,
): Promise<undefined> {
  reply.send(status, { ...common, "content-type": type }, body);
}

function sendJson(exchange: Exchange, answer: object): Promise<undefined> {
  return sendText(exchange, 200, "application/json", JSON.stringify(answer));
}

function noSession(): Rejection {
  const message = "There is no such session; name it by its tag or its id.";
  return reject("session-not-found", message, { data: { reason: "unknown" } });
}

function notFound(): Rejection {
  return reject("not-found", "There is nothing at this path of the admin port.");
}

function wrongMethod(allow: string): Rejection {
  return reject("method-not-allowed", `This takes ${allow}.`, { headers: { allow } });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
