/**
 * The metadata of the endpoint as a protected resource [RFC 9728]: where a client that was refused
 * learns whose tokens are taken. Public: it is served to every page, whatever Host it asks.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { refusalBody } from "@holdfast/contract";
import type { Handler } from "../listen.ts";

/** [RFC 9728 3.1] The well-known part stands between host and path. */
export function metadataUrlOf(endpoint: string): string {
  const { origin, pathname } = new URL(endpoint);
  return `${origin}/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}`;
}

/** What tokens for an endpoint are made for; of a bare host, with and without its slash. */
export function audiencesOf(endpoint: string): readonly string[] {
  const { origin, pathname } = new URL(endpoint);
  return pathname === "/" ? [origin, endpoint] : [endpoint];
}

/**
 * Serve the metadata of an endpoint, and hand everything else on.
 *
 * @param endpoint - its public URL
 * @param issuer - whose tokens it takes; undefined when they are not an issuer's
 */
export function withMetadata(endpoint: string, issuer: string | undefined, next: Handler): Handler {
  const path = new URL(metadataUrlOf(endpoint)).pathname;
  const document = JSON.stringify({
    resource: endpoint,
    ...(issuer === undefined ? {} : { authorization_servers: [issuer] }),
    bearer_methods_supported: ["header"],
  });
  return (request, response) => {
    if (request.url?.split("?")[0] === path) answer(request, response, document);
    else next(request, response);
  };
}

function answer(request: IncomingMessage, response: ServerResponse, document: string): void {
  switch (request.method) {
    case "GET":
    case "HEAD":
      send(response, 200, { "cache-control": "max-age=300" }, document);
      return;
    case "OPTIONS":
      send(response, 204, { ...preflight, allow: methods });
      return;
    default: {
      const message = `This is a document: it takes ${methods}.`;
      send(response, 405, { allow: methods }, refusalBody("method-not-allowed", { message }));
    }
  }
}

const methods = "GET, HEAD, OPTIONS";

/** SDK clients send `MCP-Protocol-Version` here too. */
const preflight = {
  "access-control-allow-methods": methods,
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body?: string,
): void {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  response.writeHead(status, { "access-control-allow-origin": "*", ...type, ...headers });
  response.end(body);
}
