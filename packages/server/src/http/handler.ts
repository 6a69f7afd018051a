/**
 * The endpoint: each request goes through the checks in their order [C D-04], then to its method.
 */
import type { RuntimeContext } from "../runtime-context.ts";
import type { Sessions } from "../sessions.ts";
import { type AccessRules, checkAccess, corsHeaders, preflightHeaders } from "./access.ts";
import type { Headers, HttpReply, HttpRequest } from "./exchange.ts";
import { handleGet } from "./get.ts";
import { accepts } from "./negotiation.ts";
import { handlePost } from "./post.ts";
import { type Rejection, reject, sendRejection } from "./rejection.ts";
import { absent, findSession } from "./session-lookup.ts";

export interface Endpoint {
  readonly context: RuntimeContext;
  readonly sessions: Sessions;
  readonly access: AccessRules;
  isDraining(): boolean;
}

/** Headers that every answer has. */
const common: Headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const allowedMethods = "GET, POST, DELETE, OPTIONS";

export async function handle(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
): Promise<void> {
  const { path } = endpoint.context.options;
  const isPost = request.method === "POST";
  if (path !== undefined && request.path !== path) {
    const message = `There is nothing at this path; the MCP endpoint is ${path}.`;
    return sendRejection(reply, reject("not-found", message), isPost, common);
  }
  const denied = checkAccess(request, endpoint.access);
  if (denied !== undefined) return sendRejection(reply, denied, isPost, common);
  const headers = { ...common, ...corsHeaders(request) };
  const rejection = await dispatch(endpoint, request, reply, headers).catch((error: unknown) => {
    endpoint.context.logger.error({ error, method: request.method }, "a request failed");
    return reject("store-unavailable", "The event log is out of reach; try again later.");
  });
  if (rejection !== undefined) sendRejection(reply, rejection, isPost, headers);
}

async function dispatch(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
  headers: Headers,
): Promise<Rejection | undefined> {
  switch (request.method) {
    case "POST":
      return handlePost(endpoint, request, reply, headers);
    case "GET":
      if (!accepts(request.header("accept"), "text/event-stream")) {
        return reject("not-acceptable", "A GET needs Accept: text/event-stream.");
      }
      return handleGet(endpoint, request, reply, headers);
    case "DELETE":
      return handleDelete(endpoint, request, reply, headers);
    case "OPTIONS":
      reply.send(204, { ...headers, ...preflightHeaders, allow: allowedMethods });
      return undefined;
    default:
      return reject("method-not-allowed", `The endpoint takes ${allowedMethods}.`, {
        headers: { allow: allowedMethods },
      });
  }
}

/** [C S-08] */
async function handleDelete(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
  headers: Headers,
): Promise<Rejection | undefined> {
  const found = await findSession(endpoint, request, []);
  if (found.kind === "rejected") return found.rejection;
  // Of two DELETEs at once, one finds nothing left to delete.
  if (!(await found.session.end("deleted"))) return absent("deleted");
  reply.send(204, headers);
  return undefined;
}
