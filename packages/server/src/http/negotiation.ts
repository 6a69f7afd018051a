/**
 * What the headers of a request ask for: media types and protocol version.
 */
import {
  isSupportedVersion,
  statelessVersionKey,
  supportedVersions,
  unsupportedVersion,
} from "@holdfast/contract";
import { type Rejection, reject } from "./rejection.ts";

/**
 * Whether an `Accept` header takes a media type; wildcards do, `q=0` does not.
 *
 * @param accept - undefined (no header) takes nothing: the transport spec asks for the header
 */
export function accepts(accept: string | undefined, type: string): boolean {
  // What nearly every client sends, as it is written in the transport spec.
  if (accept === "application/json, text/event-stream" && usualTypes.has(type)) return true;
  const [family] = type.split("/");
  // [RFC 9110 12.5.1] the most specific range counts, whatever its place in the list.
  for (const range of [type, `${family}/*`, "*/*"]) {
    const quality = qualityOf(accept ?? "", range);
    if (quality !== undefined) return quality > 0;
  }
  return false;
}

const usualTypes: ReadonlySet<string> = new Set(["application/json", "text/event-stream"]);

function qualityOf(accept: string, range: string): number | undefined {
  for (const item of accept.split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    if (name !== range) continue;
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    const value = quality === undefined ? 1 : Number(quality);
    return Number.isNaN(value) ? 1 : value;
  }
  return undefined;
}

/** [C D-04] A body that is JSON in UTF-8, and not packed. */
export function checkContentType(
  contentType: string | undefined,
  encoding: string | undefined,
): Rejection | undefined {
  if (contentType === "application/json" && encoding === undefined) return undefined;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim());
  if (type.toLowerCase() !== "application/json") {
    return reject(
      "unsupported-media-type",
      `The body of a POST must be application/json, not ${JSON.stringify(contentType ?? "nothing")}.`,
    );
  }
  const charset = parameters
    .map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]?.toLowerCase())
    .find((name) => name !== undefined);
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    return reject("unsupported-media-type", `The body must be UTF-8, not ${charset}.`);
  }
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return reject("unsupported-media-type", `The body must be sent as it is, not as ${encoding}.`);
  }
  return undefined;
}

/**
 * [C S-09] The version that a request claims for itself.
 *
 * @param negotiated - the session's own version, which is always accepted
 */
export function checkVersion(
  header: string | undefined,
  bodies: readonly unknown[],
  negotiated: string | undefined,
): Rejection | undefined {
  const isRefused = (version: string | undefined) =>
    version !== undefined && version !== negotiated && !isSupportedVersion(version);
  const claimed = isRefused(header) ? header : bodies.map(statelessVersionOf).find(isRefused);
  if (claimed === undefined) return undefined;
  return reject(
    "unsupported-version",
    `Protocol version ${JSON.stringify(claimed.slice(0, 64))} is not served here: sessions belong ` +
      `to ${supportedVersions.join(", ")}. Begin with initialize.`,
    { data: { ...unsupportedVersion(claimed.slice(0, 64)) } },
  );
}

/** A request of the stateless revision says so in itself. */
function statelessVersionOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { method, params } = body as { method?: unknown; params?: { _meta?: unknown } };
  const meta: unknown = typeof params === "object" && params !== null ? params._meta : undefined;
  if (typeof meta === "object" && meta !== null && Object.hasOwn(meta, statelessVersionKey)) {
    const version = (meta as Record<string, unknown>)[statelessVersionKey];
    if (typeof version === "string") return version;
  }
  return method === "server/discover" ? "2026-07-28" : undefined;
}
