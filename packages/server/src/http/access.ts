/**
 * Who may speak to the endpoint at all: Host and Origin against an allow-list, so that a web page
 * cannot reach a local server through the user's browser [C P-01].
 */
import type { Headers, HttpRequest } from "./exchange.ts";
import { type Rejection, reject } from "./rejection.ts";

export interface AccessRules {
  /** Hosts as they stand in `Host`: a name for any port, or name and port. */
  readonly hosts: readonly string[];
  /** Origins as browsers send them: `https://app.example`. */
  readonly origins: readonly string[];
}

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function checkAccess(request: HttpRequest, rules: AccessRules): Rejection | undefined {
  const hosts = request.hosts();
  const host = hosts.length === 1 ? hosts[0] : undefined;
  if (host === undefined || !isHostAllowed(host, rules.hosts)) {
    return reject(
      "host-not-allowed",
      `Host ${JSON.stringify(hosts.join(", "))} is not served here. If it should be, start the ` +
        "server with --allowed-host.",
    );
  }
  const origin = request.header("origin");
  if (origin !== undefined && !isOriginAllowed(origin, rules.origins)) {
    return reject(
      "origin-not-allowed",
      `Pages of ${JSON.stringify(origin)} may not use this server. If they should, start it with ` +
        "--allowed-origin.",
    );
  }
  return undefined;
}

/** What lets an allowed page read our answers; nothing for callers that are no page. */
export function corsHeaders(request: HttpRequest): Headers {
  const origin = request.header("origin");
  if (origin === undefined) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate, Retry-After",
    vary: "Origin",
  };
}

/** The answer to a preflight of an allowed page. */
export const preflightHeaders: Headers = {
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers":
    "Authorization, Content-Type, Accept, Mcp-Session-Id, Last-Event-ID, Mcp-Protocol-Version, " +
    "Idempotency-Key, Mcp-Resume-Contract",
  "access-control-max-age": "86400",
};

function isHostAllowed(host: string, allowed: readonly string[]): boolean {
  const lower = host.toLowerCase();
  const name = nameOfHost(lower);
  if (name === undefined) return false;
  if (loopbackNames.has(name)) return true;
  return allowed.some((entry) => {
    const wanted = entry.toLowerCase();
    return wanted === lower || wanted === name;
  });
}

function isOriginAllowed(origin: string, allowed: readonly string[]): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  // An origin is scheme, host and port alone; `null` and everything odd is nobody's.
  if (url === undefined || url.origin === "null" || `${url.origin}/` !== url.href) return false;
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  if (isWeb && loopbackNames.has(url.hostname)) return true;
  return allowed.some((entry) => URL.canParse(entry) && new URL(entry).origin === url.origin);
}

/** The name in `name:port` or `[v6]:port`; undefined when it is neither. */
function nameOfHost(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^:[\]@/\\\s]+)(?::\d{1,5})?$/.exec(host)?.[1];
}
