/**
 * The keys of an issuer: found by its discovery document, fetched again when they are old or when
 * a token names one that is not there.
 *
 *     unknown ──discover──▶ known ──a fetch of old keys failed──▶ unknown
 *        └──failed──▶ paused ──▶ unknown
 */
import { createRemoteJWKSet, type JWTVerifyGetKey, type RemoteJWKSet } from "jose";
import { isTrustworthy } from "../option-values.ts";

/** One answer of the issuer may take so long, milliseconds. */
const answerMs = 5000;
/** After a failure the issuer is left alone for so long, milliseconds. */
export const pauseMs = 2000;
/** A longer document is none, bytes. */
const documentBytesMax = 1024 * 1024;

export interface IssuerKeys {
  /**
   * The key for a token.
   *
   * @throws what jose throws for a token without a fitting key; any other error: the issuer is out
   * of reach, or does not keep to its protocol
   */
  readonly key: JWTVerifyGetKey;
  /** Find the keys before they are needed. @throws Error with a sentence why that failed */
  discover(): Promise<void>;
}

/**
 * @param issuer - as its tokens name it
 * @param nowMs - a clock that never steps back
 */
export function issuerKeys(issuer: string, nowMs: () => number): IssuerKeys {
  let found: RemoteJWKSet | undefined;
  let finding: Promise<RemoteJWKSet> | undefined;
  let failure: { readonly atMs: number; readonly error: unknown } | undefined;
  const fail = (error: unknown): never => {
    failure = { atMs: nowMs(), error };
    throw error;
  };
  const keySet = async () => {
    if (found !== undefined) return found;
    if (failure !== undefined && nowMs() - failure.atMs < pauseMs) throw failure.error;
    finding ??= findKeySet(issuer).finally(() => {
      finding = undefined;
    });
    found = await finding.catch(fail);
    return found;
  };
  return {
    key: async (header, token) => {
      const keys = await keySet();
      try {
        return await keys(header, token);
      } catch (error) {
        if (keys.fresh) throw error;
        // There are no keys to use, or they are too old: perhaps the issuer has moved them.
        found = undefined;
        return fail(error);
      }
    },
    discover: async () => void (await keySet()),
  };
}

/**
 * Where the issuer's discovery document may be, in the order in which MCP has clients look: [RFC
 * 8414 3.1] the well-known part between host and path, OpenID's own form of that, and [OpenID
 * Discovery 4] behind the path.
 */
export function discoveryUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(urls)];
}

async function findKeySet(issuer: string): Promise<RemoteJWKSet> {
  const signal = AbortSignal.timeout(answerMs);
  const problems: string[] = [];
  for (const url of discoveryUrls(issuer)) {
    const uri = await keySetUri(url, issuer, signal);
    if ("problem" in uri) problems.push(uri.problem);
    else return createRemoteJWKSet(uri, { timeoutDuration: answerMs });
  }
  throw new Error(`The keys of ${issuer} cannot be found: ${problems.join("; ")}.`);
}

async function keySetUri(
  url: string,
  issuer: string,
  signal: AbortSignal,
): Promise<URL | { readonly problem: string }> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "manual",
    signal,
  }).catch((error: unknown) => {
    throw new Error(`The issuer ${issuer} is out of reach: ${causeOf(error)}.`, { cause: error });
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    return { problem: `${url} answers ${response.status}` };
  }
  const document = await readDocument(response);
  if (document === undefined) return { problem: `${url} is no JSON object` };
  // [RFC 8414 3.3] Of another issuer, "the data contained in the response MUST NOT be used".
  if (document.issuer !== issuer) {
    return { problem: `${url} is of the issuer ${JSON.stringify(document.issuer)}` };
  }
  const { jwks_uri } = document;
  if (typeof jwks_uri !== "string" || !isTrustworthy(jwks_uri)) {
    return { problem: `${url} has no jwks_uri with https` };
  }
  return new URL(jwks_uri);
}

interface Discovery {
  readonly issuer?: unknown;
  readonly jwks_uri?: unknown;
}

async function readDocument(response: Response): Promise<Discovery | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > documentBytesMax) return undefined;
    chunks.push(chunk);
  }
  try {
    const document: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return typeof document === "object" && document !== null ? document : undefined;
  } catch {
    return undefined;
  }
}

/** What fetch says is "fetch failed"; why, is underneath. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return (cause as NodeJS.ErrnoException).code?.toString() ?? cause.message;
}
