import type { Authentication } from "@holdfast/server";
import { disposeAll, fakeClock, verifies } from "@holdfast/testkit";
import { exportSPKI, importJWK, SignJWT } from "jose";
import { afterEach, expect, test, vi } from "vitest";
import { issuerKeys, pauseMs } from "../src/auth/issuer-keys.ts";
import { jwtAuthentication } from "../src/auth/jwt-authentication.ts";
import { type IssuerSettings, type LocalIssuer, localIssuer, sendJson } from "./local-issuer.ts";
import { recordingLogger } from "./recording-logger.ts";

afterEach(async () => {
  vi.useRealTimers();
  await disposeAll();
});

const endpoint = "https://mcp.example/mcp";
const metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

async function open(settings: IssuerSettings = {}) {
  const issuer = await localIssuer({ audience: endpoint, ...settings });
  return { issuer, ...gateOf(issuer.issuer) };
}

function gateOf(issuer: string) {
  const clock = fakeClock();
  const log = recordingLogger();
  const authenticate = jwtAuthentication({
    ...{ issuer, keys: issuerKeys(issuer, clock.monotonicMs), logger: log.logger },
    audiences: () => [endpoint],
    metadataUrl: () => metadata,
  });
  const ask = async (token: string) =>
    authenticate({ header: (name) => (name === "authorization" ? `Bearer ${token}` : undefined) });
  return { authenticate, ask, clock, log };
}

function principal(issuer: LocalIssuer, subject: string): Authentication {
  return { kind: "principal", principal: JSON.stringify([issuer.issuer, subject]) };
}

const nowS = () => Math.floor(Date.now() / 1000);

test.each(["ES256", "RS256", "PS512", "EdDSA"])(
  `${verifies("S-06")}issuer and subject are the principal, whatever the token: %s`,
  async (alg) => {
    const { issuer, ask } = await open({ alg });
    const first = await issuer.token({ jti: "1" });
    const second = await issuer.token({ jti: "2", aud: ["other", endpoint], exp: nowS() + 7200 });
    expect(await ask(first)).toEqual(principal(issuer, "alice"));
    expect(await ask(second)).toEqual(principal(issuer, "alice"));
    const other = await issuer.token({ sub: 'alice","x' });
    expect(await ask(other)).toEqual(principal(issuer, 'alice","x'));
  },
);

/** Whoever takes a public key for a shared secret lets everyone in who has read it. */
async function signedWithPublicKey(issuer: LocalIssuer): Promise<string> {
  const { kid = "", ...jwk } = issuer.publicJwk();
  const key = await importJWK(jwk, "ES256", { extractable: true });
  if (key instanceof Uint8Array) throw new Error("the key is no public key");
  const secret = Buffer.from(await exportSPKI(key));
  const claims = { iss: issuer.issuer, sub: "alice", aud: endpoint, exp: nowS() + 3600 };
  return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid }).sign(secret);
}

async function unsigned(issuer: LocalIssuer): Promise<string> {
  const [, payload = ""] = (await issuer.token()).split(".");
  const header = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  return `${header}.${payload}.`;
}

async function changed(issuer: LocalIssuer): Promise<string> {
  const [header = "", , signature = ""] = (await issuer.token()).split(".");
  const [, payload = ""] = (await issuer.token({ sub: "root" })).split(".");
  return `${header}.${payload}.${signature}`;
}

const unpublished = async (issuer: LocalIssuer, header = {}) => {
  await issuer.changeKey(false);
  return issuer.token({}, header);
};

test.each<[string, (issuer: LocalIssuer) => Promise<string>, string]>([
  ["expired", (it) => it.token({ exp: nowS() - 3600 }), "The token has expired."],
  ["without an end", (it) => it.token({ exp: undefined }), "no usable claim exp"],
  ["without a subject", (it) => it.token({ sub: undefined }), "no usable claim sub"],
  ["of an empty subject", (it) => it.token({ sub: "" }), "no usable claim sub"],
  ["not valid yet", (it) => it.token({ nbf: nowS() + 3600 }), "not valid yet"],
  ["for another audience", (it) => it.token({ aud: "https://x.example" }), "another audience"],
  ["for a longer audience", (it) => it.token({ aud: `${endpoint}/x` }), "another audience"],
  ["for no audience", (it) => it.token({ aud: undefined }), "another audience"],
  ["of another issuer", (it) => it.token({ iss: `${it.issuer}/x` }), "another issuer"],
  ["of no issuer", (it) => it.token({ iss: undefined }), "another issuer"],
  ["with alg none", unsigned, "signed in a way that is not taken"],
  ["signed HS256 with the public key", signedWithPublicKey, "signed in a way that is not taken"],
  ["changed on the way", changed, "not signed by its issuer"],
  ["signed with a foreign key", unpublished, "not signed with a key of its issuer"],
  [
    "signed with a foreign key under a good name",
    (it) => unpublished(it, { kid: "key-1" }),
    "not signed by its issuer",
  ],
  ["that is no JWT", async () => "abc", "no JSON Web Token"],
  ["that is no JSON", async () => "YQ.YQ.YQ", "no JSON Web Token"],
])(`${verifies("S-06")}a token %s is refused, with the reason`, async (_what, make, reason) => {
  const { issuer, ask, log } = await open();
  const token = await make(issuer);
  const outcome = await ask(token);
  expect(outcome).toEqual({
    kind: "refused",
    challenge: expect.stringMatching(
      `^Bearer error="invalid_token", error_description=".*${reason}.*", ` +
        `resource_metadata="${metadata}"$`,
    ),
    message: expect.stringContaining(reason),
  });
  expect(log.text).toBe("");
});

test("clocks that are some seconds apart do no harm", async () => {
  const { issuer, ask } = await open();
  expect(await ask(await issuer.token({ exp: nowS() - 5 }))).toEqual(principal(issuer, "alice"));
});

test.each([
  ["", "/.well-known/oauth-authorization-server"],
  ["", "/.well-known/openid-configuration"],
  ["/realms/a", "/.well-known/oauth-authorization-server/realms/a"],
  ["/realms/a", "/.well-known/openid-configuration/realms/a"],
  ["/realms/a", "/realms/a/.well-known/openid-configuration"],
])("the keys of an issuer at %j are found by %s", async (path, discovery) => {
  const { issuer, ask } = await open({ path, discovery });
  expect(await ask(await issuer.token())).toEqual(principal(issuer, "alice"));
  await ask(await issuer.token());
  expect(issuer.asked.slice(-2)).toEqual([discovery, "/keys"]);
});

test("a new key of the issuer is found by its name", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { issuer, ask } = await open();
  expect(await ask(await issuer.token())).toEqual(principal(issuer, "alice"));
  await issuer.changeKey(true);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await ask(await issuer.token())).toEqual(principal(issuer, "alice"));
});

const unavailable = { kind: "unavailable", message: expect.stringContaining("out of reach") };

test(`${verifies("S-06")}an issuer out of reach makes no token bad; it is back by itself`, async () => {
  const { issuer, ask, clock, log } = await open();
  const token = await issuer.token();
  await issuer.down();
  expect(await ask(token)).toEqual(unavailable);
  await issuer.up();
  // It is left alone for a moment, so that an outage is not made worse.
  clock.advance(pauseMs - 1);
  expect(await ask(token)).toEqual(unavailable);
  expect(issuer.asked).toEqual([]);
  clock.advance(1);
  expect(await ask(token)).toEqual(principal(issuer, "alice"));
  expect(log.messages).toEqual([
    "tokens cannot be checked: requests are answered 503",
    "tokens can be checked again",
  ]);
  expect(log.text).toContain("ECONNREFUSED");
  expect(log.text).not.toContain(token);
});

test("keys that are there serve through an outage, until they are too old", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { issuer, ask, clock } = await open();
  const token = await issuer.token({ exp: nowS() + 7200 });
  await ask(token);
  await issuer.down();
  vi.setSystemTime(Date.now() + 5 * 60_000);
  // A name that nobody has heard of is looked for in vain; that spoils nothing.
  await issuer.changeKey(true);
  expect(await ask(await issuer.token())).toEqual(unavailable);
  expect(await ask(token)).toEqual(principal(issuer, "alice"));
  vi.setSystemTime(Date.now() + 6 * 60_000);
  expect(await ask(token)).toEqual(unavailable);
  await issuer.up();
  clock.advance(pauseMs);
  expect(await ask(token)).toEqual(principal(issuer, "alice"));
});

const discovery = "/.well-known/oauth-authorization-server";

test.each<[string, (issuer: LocalIssuer) => void, string]>([
  [
    "names another issuer",
    ({ issuer, answers }) => {
      const document = { issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` };
      answers.set(discovery, (response) => sendJson(response, document));
    },
    "is of the issuer",
  ],
  [
    "has its keys where others can write on the way",
    ({ issuer, answers }) => {
      const document = { issuer, jwks_uri: "http://keys.example/keys" };
      answers.set(discovery, (response) => sendJson(response, document));
    },
    "has no jwks_uri with https",
  ],
  [
    "is no JSON",
    ({ answers }) => void answers.set(discovery, (response) => void response.end("<html>")),
    "is no JSON object",
  ],
  [
    "is somewhere else",
    ({ issuer, answers }) => {
      answers.set(discovery, (response) => {
        response.writeHead(302, { location: `${issuer}/other` }).end();
      });
    },
    "answers 302",
  ],
  [
    "never ends",
    ({ answers }) => {
      answers.set(discovery, (response) => {
        const more = () => void response.write("x".repeat(65_536), more);
        response.on("error", () => {});
        more();
      });
    },
    "is no JSON object",
  ],
  [
    "is good, but its keys are not",
    ({ answers }) => void answers.set("/keys", (response) => sendJson(response, { keys: 1 })),
    "JSON Web Key Set",
  ],
  [
    "is good, but its keys are gone",
    ({ answers }) => void answers.set("/keys", (response) => void response.writeHead(404).end()),
    "JSON Web Key Set",
  ],
])("a discovery document that %s is the issuer's fault, no token's", async (_what, spoil, told) => {
  const { issuer, ask, log } = await open();
  spoil(issuer);
  expect(await ask(await issuer.token())).toEqual(unavailable);
  expect(log.text).toContain(told);
});

test("without a token nobody asks the issuer", async () => {
  const { issuer, authenticate } = await open();
  const challenge = `Bearer resource_metadata="${metadata}"`;
  for (const header of [undefined, "Basic YTpi"]) {
    const outcome = await authenticate({ header: () => header });
    expect(outcome).toMatchObject({ kind: "refused", challenge });
  }
  expect(issuer.asked).toEqual([]);
});
