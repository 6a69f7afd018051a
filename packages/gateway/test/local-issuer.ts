/** An issuer of tokens on loopback: discovery document, key set, and the tokens themselves. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onDispose } from "@holdfast/testkit";
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";

export interface LocalIssuer {
  readonly issuer: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
  /** The public half of the key that signs now. */
  publicJwk(): JWK;
  /** A good token for an hour; `claims` replace and, where undefined, take away. */
  token(claims?: Claims, header?: TokenHeader): Promise<string>;
  /** Sign with a new key from now on. @param isPublished - and show it in the key set */
  changeKey(isPublished: boolean): Promise<void>;
  /** Answers instead of the usual ones, by path. */
  readonly answers: Map<string, (response: ServerResponse) => void>;
  /** Stop listening; `up` listens on the same port again. */
  down(): Promise<void>;
  up(): Promise<void>;
}

type Claims = { readonly [name in keyof JWTPayload]?: JWTPayload[name] | undefined };
type TokenHeader = { readonly kid?: string | undefined };

export interface IssuerSettings {
  /** Path of the issuer. */
  readonly path?: string;
  /** Path of the discovery document. */
  readonly discovery?: string;
  readonly alg?: string;
  /** `aud` of its tokens, where a test does not say. */
  readonly audience?: string;
}

const discoveryPath = "/.well-known/oauth-authorization-server";

export async function localIssuer(settings: IssuerSettings = {}): Promise<LocalIssuer> {
  const { path = "", discovery = `${discoveryPath}${path}`, alg = "ES256" } = settings;
  const asked: string[] = [];
  const answers: LocalIssuer["answers"] = new Map();
  let published: JWK[] = [];
  let signing: { readonly kid: string; readonly key: CryptoKey; readonly jwk: JWK };
  let keys = 0;
  const changeKey = async (isPublished: boolean) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    keys += 1;
    const kid = `key-${keys}`;
    const jwk = { ...(await exportJWK(publicKey)), kid, alg };
    signing = { kid, key: privateKey, jwk };
    if (isPublished) published = [...published, jwk];
  };
  await changeKey(true);

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const asksFor = request.url ?? "";
    asked.push(asksFor);
    const answer = answers.get(asksFor);
    if (answer !== undefined) answer(response);
    else if (asksFor === discovery) sendJson(response, { issuer, jwks_uri: `${origin}/keys` });
    else if (asksFor === "/keys") sendJson(response, { keys: published });
    else response.writeHead(404).end();
  };
  const server = createServer(serve);
  const listen = (port: number) =>
    new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const issuer = `${origin}${path}`;
  const down = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onDispose(down);

  return {
    ...{ issuer, asked, answers, changeKey, down, up: () => listen(port) },
    publicJwk: () => signing.jwk,
    token: (claims = {}, header = {}) => {
      const nowS = Math.floor(Date.now() / 1000);
      const usual = { iss: issuer, sub: "alice", aud: settings.audience, exp: nowS + 3600 };
      const payload = given({ ...usual, ...claims });
      return new SignJWT(payload)
        .setProtectedHeader({ alg, ...given({ kid: signing.kid, ...header }) })
        .sign(signing.key);
    },
  };
}

/** Without what is undefined. */
function given<T extends object>(members: T): { [name in keyof T]: Exclude<T[name], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [name in keyof T]: Exclude<T[name], undefined> };
}

export function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
