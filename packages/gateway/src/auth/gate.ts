/** Who may ask, as the options say it: the three ways of `--auth` put together. */
import type { Authenticate, Logger } from "@holdfast/server";
import type { Handler } from "../listen.ts";
import type { ServeOptions } from "../serve-options.ts";
import { issuerKeys } from "./issuer-keys.ts";
import { jwtAuthentication } from "./jwt-authentication.ts";
import { audiencesOf, metadataUrlOf, withMetadata } from "./protected-resource.ts";
import { tokenFileAuthentication } from "./token-file.ts";

export interface Gate {
  /** Undefined: everyone may ask. */
  readonly authenticate: Authenticate | undefined;
  /** The endpoint has this public URL; the way to its metadata is shown from now on. */
  publish(endpoint: string, next: Handler): Handler;
}

/**
 * @param nowMs - a clock that never steps back
 * @throws {@link HoldfastError} `ERR_OPTION` for a file of tokens that cannot be used
 */
export async function openGate(
  { auth, audience }: Pick<ServeOptions, "auth" | "audience">,
  logger: Logger,
  nowMs: () => number,
): Promise<Gate> {
  if (auth.kind === "none") return { authenticate: undefined, publish: (_endpoint, next) => next };
  let published: string | undefined;
  const metadataUrl = () => (published === undefined ? undefined : metadataUrlOf(published));
  const publish = (issuer: string | undefined) => (endpoint: string, next: Handler) => {
    published = endpoint;
    return withMetadata(endpoint, issuer, next);
  };
  if (auth.kind === "bearer") {
    const parts = { file: auth.file, metadataUrl, logger, nowMs };
    return { authenticate: await tokenFileAuthentication(parts), publish: publish(undefined) };
  }
  const { issuer } = auth;
  const keys = issuerKeys(issuer, nowMs);
  // The start does not wait for the issuer; but whoever started it is told at once.
  keys.discover().catch((error: unknown) => logger.warn({ error }, "the issuer has no keys yet"));
  const audiences = () => {
    if (audience !== undefined) return [audience];
    return published === undefined ? [] : audiencesOf(published);
  };
  const authenticate = jwtAuthentication({ issuer, keys, audiences, metadataUrl, logger });
  return { authenticate, publish: publish(issuer) };
}
