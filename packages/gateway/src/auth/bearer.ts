/** How a token comes in, and how its absence is answered [RFC 6750]. Pure. */
import type { Authentication } from "@holdfast/server";

/** The token of an `Authorization` header; `none`: nobody tried. */
export type Presented =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "malformed" }
  | { readonly kind: "none" };

/** @param header - the value of `Authorization` */
export function presentedToken(header: string | undefined): Presented {
  const [, scheme = "", rest = ""] = /^\s*(\S+)\s*(.*?)\s*$/.exec(header ?? "") ?? [];
  if (scheme.toLowerCase() !== "bearer") return { kind: "none" };
  return isToken(rest) ? { kind: "token", token: rest } : { kind: "malformed" };
}

/** [RFC 6750 2.1] b64token */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** The request came without a token. */
export function missingToken(metadataUrl: string | undefined): Authentication {
  const message = "This endpoint needs a token: send Authorization: Bearer TOKEN.";
  return { kind: "refused", challenge: challenge({ resource_metadata: metadataUrl }), message };
}

/**
 * The token that came is of no use.
 *
 * @param why - a sentence without quotes and backslashes
 */
export function invalidToken(why: string, metadataUrl: string | undefined): Authentication {
  const parameters = {
    error: "invalid_token",
    error_description: why,
    resource_metadata: metadataUrl,
  };
  return { kind: "refused", challenge: challenge(parameters), message: why };
}

function challenge(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const list = given.map(([name, value]) => `${name}="${value}"`).join(", ");
  return `Bearer ${list}`.trim();
}
