/**
 * Why no answer came: what `fetch` threw, by the codes of Node and undici, as facts for decisions
 * and as a sentence with a fix for people. Pure.
 */

export interface NetworkFault {
  readonly by: "reset" | "timeout";
  /** No connection came about: not a byte of the request has left. */
  readonly isUnsent: boolean;
  /** As Node or undici names it; null where they do not. */
  readonly code: string | null;
  /** Goes on from "could not be reached:". */
  readonly why: string;
  readonly fix: string;
  readonly cause: unknown;
}

/**
 * @param error - what `fetch` threw
 * @param isLate - it was given up since its headers took too long
 */
export function networkFault(error: unknown, isLate: boolean): NetworkFault {
  const causes = causesOf(error);
  const code = causes.map(codeOf).findLast((one) => one !== undefined) ?? null;
  const by = isLate || isTimeout(error) ? "timeout" : "reset";
  const kind = isLate ? "silent" : (codeless(causes) ?? kindOf(code, by));
  const isUnsent =
    kind === "tls" || kind === "badPort" || (by === "reset" && causes.some(isConnecting));
  const { why, fix } = sentences[kind];
  return { by, isUnsent, code, why: code === null ? why : `${why} (${code})`, fix, cause: error };
}

export function isTimeout(error: unknown): boolean {
  return causesOf(error).some((cause) => {
    const { name } = cause as { name?: unknown };
    return name === "TimeoutError" || timeoutCodes.has(codeOf(cause) ?? "");
  });
}

type FaultKind =
  | "refused"
  | "noName"
  | "noRoute"
  | "certificate"
  | "tls"
  | "noHttp"
  | "badPort"
  | "connectTimeout"
  | "silent"
  | "cut";

const timeoutCodes = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"]);
const connectCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** What is not here is told by the beginning of its code. */
const kinds: ReadonlyMap<string, FaultKind> = new Map([
  ["ECONNREFUSED", "refused"],
  ["ENOTFOUND", "noName"],
  ["EAI_AGAIN", "noName"],
  ["EHOSTUNREACH", "noRoute"],
  ["ENETUNREACH", "noRoute"],
  ["EADDRNOTAVAIL", "noRoute"],
  ["UND_ERR_CONNECT_TIMEOUT", "connectTimeout"],
  ["ETIMEDOUT", "connectTimeout"],
  ["EPROTO", "tls"],
]);

const prefixes: readonly (readonly [RegExp, FaultKind])[] = [
  [/^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_)/, "certificate"],
  [/^(ERR_SSL_|ERR_TLS_)/, "tls"],
  [/^HPE_/, "noHttp"],
];

/** What undici throws without a code. */
function codeless(causes: readonly object[]): FaultKind | undefined {
  if (causes.some((cause) => cause.constructor?.name === "HTTPParserError")) return "noHttp";
  const isBadPort = causes.some((cause) => "message" in cause && cause.message === "bad port");
  return isBadPort ? "badPort" : undefined;
}

function kindOf(code: string | null, by: "reset" | "timeout"): FaultKind {
  const known = kinds.get(code ?? "");
  const alike = prefixes.find(([pattern]) => pattern.test(code ?? ""))?.[1];
  return known ?? alike ?? (by === "timeout" ? "silent" : "cut");
}

const sentences: Readonly<Record<FaultKind, Pick<NetworkFault, "why" | "fix">>> = {
  refused: {
    why: "nothing listens there",
    fix: "Start the server, or correct host and port of the address.",
  },
  noName: {
    why: "its name is not known",
    fix: "Correct the name in the address, or check the DNS and the VPN of this machine.",
  },
  noRoute: {
    why: "there is no route to it",
    fix: "Check the network and the VPN of this machine, and the address.",
  },
  certificate: {
    why: "its certificate is not accepted",
    fix:
      "Renew the certificate, use the name that it is made out for, or let Node know who signed " +
      "it: NODE_EXTRA_CA_CERTS=/path/to/ca.pem.",
  },
  tls: {
    why: "no TLS connection came about",
    fix: "Use http:// for a server without TLS; otherwise check its port and TLS versions.",
  },
  noHttp: {
    why: "what answers there speaks no HTTP",
    fix: "Correct the port of the address, or use https:// for a server with TLS.",
  },
  badPort: {
    why: "fetch speaks to no server on this port",
    fix: "Let the server listen on another port: this one is kept for another protocol.",
  },
  connectTimeout: {
    why: "no connection came about in time",
    fix: "Check the address, and whether a firewall stands in between.",
  },
  silent: {
    why: "it did not answer in time",
    fix: "See whether the server hangs, or something on the way swallows the answer.",
  },
  cut: {
    why: "the connection was cut before an answer came",
    fix: "See what the server, and the proxies before it, say in their logs.",
  },
};

function isConnecting(cause: object): boolean {
  const { syscall } = cause as { syscall?: unknown };
  return syscall === "connect" || connectCodes.has(codeOf(cause) ?? "");
}

function codeOf(cause: object): string | undefined {
  const { code } = cause as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** The error and what lies under it, to a bounded depth. */
function causesOf(error: unknown): readonly object[] {
  const causes: object[] = [];
  let next: unknown = error;
  while (typeof next === "object" && next !== null && causes.length < 8) {
    causes.push(next);
    const { cause, errors } = next as { cause?: unknown; errors?: unknown };
    next = cause ?? (Array.isArray(errors) ? errors.at(-1) : undefined);
  }
  return causes;
}
