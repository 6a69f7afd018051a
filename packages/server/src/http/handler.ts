/**
 * The endpoint: each request goes through the checks in their order [C D-04], then to its method.
 */
import { type Authentication, nobody, principalOfAuthInfo } from "../authentication.ts";
import { checkAccess, corsHeaders, preflightHeaders } from "./access.ts";
import type { Endpoint, Exchange, Handled } from "./endpoint.ts";
import type { Headers, HttpReply, HttpRequest } from "./exchange.ts";
import { handleGet } from "./get.ts";
import { handlePost } from "./post.ts";
import { type Rejection, reject, sendRejection, storeUnavailable } from "./rejection.ts";
import { absent, findSession } from "./session-lookup.ts";

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
    return refuse(endpoint, reply, reject("not-found", message), isPost, common);
  }
  const denied = checkAccess(request, endpoint.access);
  if (denied !== undefined) return refuse(endpoint, reply, denied, isPost, common);
  const headers = { ...common, ...corsHeaders(request) };
  const rejection = await dispatch(endpoint, request, reply, headers).catch((error: unknown) => {
    endpoint.context.logger.error({ error, method: request.method }, "a request failed");
    return storeUnavailable(false);
  });
  if (rejection !== undefined) refuse(endpoint, reply, rejection, isPost, headers);
}

function refuse(
  { context }: Endpoint,
  reply: HttpReply,
  rejection: Rejection,
  isPost: boolean,
  headers: Headers,
): void {
  context.telemetry.refused(rejection.type);
  sendRejection(reply, rejection, isPost, headers);
}

async function dispatch(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
  headers: Headers,
): Handled {
  const serve = methods.get(request.method);
  if (request.method === "OPTIONS") {
    reply.send(204, { ...headers, ...preflightHeaders, allow: allowedMethods });
    return undefined;
  }
  if (serve === undefined) {
    return reject("method-not-allowed", `The endpoint takes ${allowedMethods}.`, {
      headers: { allow: allowedMethods },
    });
  }
  const who = await authenticate(endpoint, request);
  if (who.kind === "refused") {
    const challenge = { "www-authenticate": who.challenge };
    return reject("unauthorized", who.message, { headers: challenge });
  }
  if (who.kind === "unavailable") return reject("authentication-unavailable", who.message);
  // [C N-05] a node that may have lost its sessions knows nothing of them that it could say.
  if (!endpoint.sessions.isServing) return storeUnavailable(true);
  const { principal, authInfo = request.authInfo } = who;
  return serve({ endpoint, request, reply, headers, principal, authInfo });
}

/** [C S-06] */
async function authenticate(
  { authenticate, context }: Endpoint,
  request: HttpRequest,
): Promise<Authentication> {
  const { authInfo } = request;
  if (authenticate === undefined) {
    const principal = authInfo === undefined ? nobody : principalOfAuthInfo(authInfo);
    return { kind: "principal", principal };
  }
  try {
    return await authenticate(request);
  } catch (error) {
    context.logger.error({ error }, "a request could not be authenticated");
    const message = "Whether the credentials are valid cannot be found out now; try again.";
    return { kind: "unavailable", message };
  }
}

const methods: ReadonlyMap<string, (exchange: Exchange) => Handled> = new Map([
  ["POST", handlePost],
  ["GET", handleGet],
  ["DELETE", handleDelete],
]);

/** [C S-08] */
async function handleDelete(exchange: Exchange): Handled {
  const found = await findSession(exchange, []);
  if (found.kind === "rejected") return found.rejection;
  const { kind } = await found.session.end("deleted");
  if (kind === "moved") return storeUnavailable(false);
  // Of two DELETEs at once, one finds nothing left to delete.
  if (kind === "absent") return absent("deleted");
  exchange.reply.send(204, exchange.headers);
  return undefined;
}
