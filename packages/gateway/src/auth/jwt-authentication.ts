/**
 * `--auth jwt:ISSUER`: who may ask is told by the tokens of one issuer. Where its keys are is found
 * out in issuer-keys.ts.
 */
import type { Authenticate, Authentication, Logger } from "@holdfast/server";
import { errors, jwtVerify } from "jose";
import { invalidToken, missingToken, presentedToken } from "./bearer.ts";
import type { IssuerKeys } from "./issuer-keys.ts";

export interface JwtParts {
  readonly issuer: string;
  readonly keys: IssuerKeys;
  /** What the token must be made for: one of these. */
  audiences(): readonly string[];
  /** Of the protected resource, for challenges. */
  metadataUrl(): string | undefined;
  readonly logger: Logger;
}

/** How far clocks may be apart, seconds. */
const toleranceS = 30;

/** With a shared secret, whoever can check tokens could make them. */
const asymmetric = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** Principal: issuer and subject [C S-06], whatever the token looks like. */
export function jwtAuthentication(parts: JwtParts): Authenticate {
  const outage = new Outage(parts.logger);
  return async (request) => {
    const presented = presentedToken(request.header("authorization"));
    if (presented.kind === "none") return missingToken(parts.metadataUrl());
    if (presented.kind === "malformed") return invalidToken(noToken, parts.metadataUrl());
    try {
      const principal = await verify(presented.token, parts);
      outage.isOver();
      return { kind: "principal", principal };
    } catch (error) {
      const why = whyInvalid(error);
      if (why !== undefined) return invalidToken(why, parts.metadataUrl());
      outage.hasBegun(error);
      return unavailable;
    }
  };
}

async function verify(token: string, { issuer, keys, audiences }: JwtParts): Promise<string> {
  const { payload } = await jwtVerify(token, keys.key, {
    issuer,
    audience: [...audiences()],
    algorithms: asymmetric,
    requiredClaims: ["exp"],
    clockTolerance: toleranceS,
  });
  const { sub } = payload;
  if (typeof sub !== "string" || sub === "") {
    throw new errors.JWTClaimValidationFailed("there is no subject", payload, "sub");
  }
  return JSON.stringify([issuer, sub]);
}

const noToken = "What was sent is no JSON Web Token that can be checked here.";

const unavailable: Authentication = {
  kind: "unavailable",
  message: "The issuer of the tokens is out of reach; try again in a moment.",
};

/** Why a token is no good; undefined: it is not the token's fault. */
function whyInvalid(error: unknown): string | undefined {
  if (!(error instanceof errors.JOSEError)) return undefined;
  if (error instanceof errors.JWTClaimValidationFailed) {
    return claimSentences[error.claim] ?? `The token has no usable claim ${error.claim}.`;
  }
  return tokenSentences[error.code];
}

const claimSentences: Readonly<Record<string, string>> = {
  aud: "The token is made for another audience.",
  iss: "The token is of another issuer.",
  nbf: "The token is not valid yet.",
};

/** By the codes of jose. */
const tokenSentences: Readonly<Record<string, string>> = {
  [errors.JWTExpired.code]: "The token has expired.",
  [errors.JWSSignatureVerificationFailed.code]: "The token is not signed by its issuer.",
  [errors.JWKSNoMatchingKey.code]: "The token is not signed with a key of its issuer.",
  [errors.JWKSMultipleMatchingKeys.code]: "The token does not say with which key it is signed.",
  [errors.JOSEAlgNotAllowed.code]: "The token is signed in a way that is not taken here.",
  [errors.JOSENotSupported.code]: noToken,
  [errors.JWSInvalid.code]: noToken,
  [errors.JWTInvalid.code]: noToken,
};

/** That the issuer is out of reach is logged once, and so is that it is back. */
class Outage {
  readonly #logger: Logger;
  #isOn = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  hasBegun(error: unknown): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#logger.error({ error }, "tokens cannot be checked: requests are answered 503");
  }

  isOver(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#logger.info({}, "tokens can be checked again");
  }
}
