import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  acceptBoth,
  answerOf,
  disposeAll,
  initializeMessage,
  openEventStream,
  openSession,
  type RawHeaders,
  type RawSession,
  rawRequest,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { holdfast, scratchDirectory, startGateway } from "./gateway-process.ts";
import { type LocalIssuer, localIssuer } from "./local-issuer.ts";
import { type Served, serve } from "./served.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

const echo = serverScript(`{ echo: (params) => params, question: () => ask("roots/list") }`);
const bearer = (token: string): RawHeaders => ({ authorization: `Bearer ${token}` });

interface Scene {
  readonly issuer: LocalIssuer;
  readonly gateway: Served;
  token(sub: string, claims?: Parameters<LocalIssuer["token"]>[0]): Promise<string>;
}

async function openScene(): Promise<Scene> {
  const issuer = await localIssuer();
  const gateway = await serve(["--auth", `jwt:${issuer.issuer}`], echo);
  const token: Scene["token"] = (sub, claims) => issuer.token({ sub, aud: gateway.url, ...claims });
  return { issuer, gateway, token };
}

/** The five ways to reach for a session [c046], each by itself. */
const reaches: Record<string, (session: RawSession, event: string) => Promise<Answer>> = {
  "a call": (session) => statusOf(session.request("echo", {}, { id: 7 })),
  "a GET": (session) => statusOf(session.get()),
  "a GET with a cursor": (session, event) => statusOf(session.get({ lastEventId: event })),
  "an answer to a question": (session) =>
    statusOf(session.post({ jsonrpc: "2.0", id: "q", result: { roots: [] } })),
  "a DELETE": (session) => statusOf(session.delete()),
};

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function statusOf(opening: ReturnType<RawSession["get"]>): Promise<Answer> {
  const stream = await opening;
  const { date, ...headers } = stream.headers;
  return { status: stream.status, headers, body: await stream.text() };
}

/** A session as somebody else would use it: with other headers. */
function as(session: RawSession, headers: RawHeaders): RawSession {
  const post: RawSession["post"] = (message) => session.post(message, { headers });
  return {
    ...session,
    post,
    request: (method, params = {}, { id = 1 } = {}) => post({ jsonrpc: "2.0", id, method, params }),
    get: (options) => session.get({ ...options, headers }),
    delete: () => session.delete({ headers }),
  };
}

test(`${verifies("S-06")}a refreshed token keeps its session, and its cursors`, async () => {
  const { gateway, token } = await openScene();
  const session = await openSession(gateway.url, { headers: bearer(await token("alice")) });
  const call = await session.request("echo", { text: "first" });
  await call.response();
  const refreshed = as(session, bearer(await token("alice", { jti: "2" })));
  const answer = await answerOf(await refreshed.request("echo", { text: "second" }));
  expect(answer.result).toEqual({ text: "second" });
  const [first] = call.events;
  const resumed = await refreshed.get({ lastEventId: first?.id ?? "" });
  expect((await resumed.response()).result).toEqual({ text: "first" });
});

test(`${verifies("S-06", "P-03", "c046")}to another principal a session is as unknown as any other id`, async () => {
  const { gateway, token } = await openScene();
  const tokens = [await token("alice"), await token("bob")] as const;
  const session = await openSession(gateway.url, {
    headers: bearer(tokens[0]),
    capabilities: { roots: {} },
  });
  const asking = await session.request("question");
  const question = await asking.nextMessage((message) => message.method === "roots/list");
  const event = asking.lastEventId ?? "";
  for (const [what, reach] of Object.entries(reaches)) {
    const foreign = await reach(as(session, bearer(tokens[1])), event);
    const unknown = { ...bearer(tokens[1]), "mcp-session-id": "x".repeat(32) };
    expect(foreign, what).toEqual(await reach(as(session, unknown), event));
    expect(foreign.status, what).toBe(404);
    expect(JSON.parse(foreign.body).error, what).toMatchObject({
      code: -32001,
      data: { type: "session-not-found", reason: "unknown" },
    });
  }
  // The very question was answered by nobody, and the session's own stream goes on.
  await as(session, bearer(tokens[1])).post({ jsonrpc: "2.0", id: question.id, result: {} });
  await session.post({ jsonrpc: "2.0", id: question.id, result: { roots: ["of alice"] } });
  expect((await asking.response()).result).toEqual({ roots: ["of alice"] });
  for (const secret of [session.sessionId, ...tokens])
    expect(gateway.log.text).not.toContain(secret);
});

test(`${verifies("S-06", "D-03", "c046")}without a good token: 401 with the way to one, and the session stays`, async () => {
  const { gateway, token } = await openScene();
  const good = bearer(await token("alice"));
  const session = await openSession(gateway.url, { headers: good });
  const call = await session.request("echo", {});
  await call.response();
  const { origin } = new URL(gateway.url);
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  const expired = await token("alice", { exp: 1_000_000_000 });
  const bad = [
    [{ authorization: undefined }, `Bearer ${metadata}`],
    [
      bearer(expired),
      `Bearer error="invalid_token", error_description="The token has expired.", ${metadata}`,
    ],
  ] as const;
  for (const [headers, challenge] of bad) {
    for (const [what, reach] of Object.entries(reaches)) {
      const answer = await reach(as(session, headers), call.lastEventId ?? "");
      expect(answer.status, what).toBe(401);
      expect(answer.headers["www-authenticate"], what).toBe(challenge);
      expect(JSON.parse(answer.body).error.data.type, what).toBe("unauthorized");
    }
  }
  // A call that was refused did not run, and is told so.
  const refused = await as(session, bearer(expired)).request("echo", {});
  expect((await answerOf(refused)).error?.data).toEqual({ type: "unauthorized", notRun: true });
  expect((await answerOf(await session.request("echo", { still: "here" }))).result).toEqual({
    still: "here",
  });
});

test(`${verifies("S-06", "D-03")}an issuer out of reach: 503 and Retry-After, never 401`, async () => {
  const { issuer, gateway, token } = await openScene();
  const headers = bearer(await token("alice"));
  await issuer.down();
  // Nothing was asked yet but the discovery at the start.
  const answer = await openEventStream({
    url: gateway.url,
    method: "POST",
    body: JSON.stringify(initializeMessage()),
    headers: { accept: acceptBoth, "content-type": "application/json", ...headers },
  });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  expect((await answerOf(answer)).error?.data).toEqual({
    type: "authentication-unavailable",
    notRun: true,
  });
});

test("a start does not wait for the issuer, and says when it is not there", async () => {
  const issuer = await localIssuer();
  await issuer.down();
  const gateway = await serve(["--auth", `jwt:${issuer.issuer}`], echo);
  expect(await gateway.log.line(/the issuer has no keys yet/)).toContain("ECONNREFUSED");
});

test(`${verifies("S-06", "P-01")}the metadata of the endpoint is public, and names the issuer`, async () => {
  const issuer = await localIssuer();
  const auth = ["--auth", `jwt:${issuer.issuer}`, "--public-url", "https://mcp.example/tools"];
  const gateway = await serve(auth, echo);
  const { origin } = new URL(gateway.url);
  const url = `${origin}/.well-known/oauth-protected-resource/tools`;
  const page = { origin: "https://app.example", host: "mcp.example" };
  const response = await rawRequest({ url, headers: page });
  expect(response).toMatchObject({
    status: 200,
    headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
  });
  expect(response.json()).toEqual({
    resource: "https://mcp.example/tools",
    authorization_servers: [issuer.issuer],
    bearer_methods_supported: ["header"],
  });
  const preflight = { "access-control-request-headers": "mcp-protocol-version", ...page };
  expect(await rawRequest({ url, method: "OPTIONS", headers: preflight })).toMatchObject({
    status: 204,
    headers: { "access-control-allow-origin": "*", "access-control-allow-headers": "*" },
  });
  expect((await rawRequest({ url, method: "HEAD" })).status).toBe(200);
  const posted = await rawRequest({ url, method: "POST", body: "{}" });
  expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
  // Tokens are made for the public URL, and the public name may stand in Host.
  const token = await issuer.token({ aud: "https://mcp.example/tools" });
  const headers = { ...bearer(token), host: "mcp.example" };
  expect((await openSession(gateway.url, { headers })).version).toBe("2025-11-25");
});

test("a token for --audience is taken, one for the URL then is not", async () => {
  const issuer = await localIssuer();
  const gateway = await serve(["--auth", `jwt:${issuer.issuer}`, "--audience", "api://x"], echo);
  const statusFor = async (aud: string) => {
    const headers = bearer(await issuer.token({ aud }));
    return (await rawRequest({ url: gateway.url, method: "DELETE", headers })).status;
  };
  expect(await statusFor("api://x")).toBe(400);
  expect(await statusFor(gateway.url)).toBe(401);
});

test(`${verifies("P-02")}a principal at its limit is told so, and others are not`, async () => {
  const { gateway: _open, issuer } = await openScene();
  const limited = ["--auth", `jwt:${issuer.issuer}`, "--max-sessions-per-principal", "1"];
  const gateway = await serve(limited, echo);
  const headersOf = async (sub: string) => bearer(await issuer.token({ sub, aud: gateway.url }));
  const alice = await openSession(gateway.url, { headers: await headersOf("alice") });
  await openSession(gateway.url, { headers: await headersOf("bob") });
  await expect(openSession(gateway.url, { headers: await headersOf("alice") })).rejects.toThrow(
    /429.*rate-limited/,
  );
  await alice.delete();
  await openSession(gateway.url, { headers: await headersOf("alice") });
});

test("without --auth nobody is asked, and there is no metadata", async () => {
  const gateway = await serve([], echo);
  const session = await openSession(gateway.url, { headers: bearer("whatever") });
  expect((await answerOf(await session.request("echo", { a: 1 }))).result).toEqual({ a: 1 });
  const { origin } = new URL(gateway.url);
  const url = `${origin}/.well-known/oauth-protected-resource/mcp`;
  expect((await rawRequest({ url })).status).toBe(404);
  expect(gateway.log.messages).not.toContainEqual(expect.stringContaining("no --auth"));
});

test("an address that others can reach without --auth is warned of", async () => {
  const open = await serve(["--host", "0.0.0.0"], echo);
  expect(open.log.messages).toContainEqual(expect.stringContaining("there is no --auth"));
});

test(`${verifies("S-06", "P-03")}bearer:FILE from the command line; tokens are nowhere in the output`, async () => {
  const directory = scratchDirectory();
  const tokens = { alice: "tok-a11ce", bob: "tok-b0b" };
  writeFileSync(join(directory, "tokens"), `${tokens.alice} alice\n${tokens.bob} bob\n`);
  const args = ["serve", "--auth", "bearer:tokens", "--log-level", "trace", ...echo];
  const gateway = await startGateway(args, directory);
  await gateway.line(/callers .*those with a token in tokens/);
  await expect(openSession(gateway.url)).rejects.toThrow(/401.*unauthorized/);
  await expect(openSession(gateway.url, { headers: bearer("tok-eve") })).rejects.toThrow(/401/);
  const session = await openSession(gateway.url, { headers: bearer(tokens.alice) });
  const { status } = await as(session, bearer(tokens.bob)).request("echo");
  expect(status).toBe(404);
  await gateway.kill("SIGTERM");
  const output = gateway.stdout + gateway.stderr;
  for (const secret of ["tok-", session.sessionId]) expect(output).not.toContain(secret);
  // The log keeps whose a session is, and no token.
  const kept = readFileSync(join(directory, "holdfast.db"), "latin1");
  expect(kept).toContain("alice");
  expect(kept).not.toContain("tok-");
});

test("a file of tokens that cannot be used ends the start, in two lines", async () => {
  const directory = scratchDirectory();
  writeFileSync(join(directory, "tokens"), "s3cret\n");
  const process = await holdfast(["serve", "--auth", "bearer:tokens", "--", "true"], directory);
  expect((await within(process.exited, "the exit")).code).toBe(1);
  expect(process.stderr).toBe(
    "holdfast: --auth bearer:tokens: line 1 has no subject; write TOKEN SUBJECT.\n" +
      "Each line is a token and whose it is, like: 3f9c…b1 alice\n",
  );
});
