/** What SDK servers are told beside messages: who calls, with what headers, and what went before. */
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLog } from "@holdfast/log-sqlite";
import { type AuthInfo, byAuthInfo } from "@holdfast/server";
import { disposeAll, onDispose, openSession, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { builds, serve, textOf } from "./servers.ts";

afterEach(disposeAll);

/** As a middleware of the SDKs leaves it: a token `Bearer ann.2` is of `ann`. */
function authInfoOf(authorization: string | undefined): AuthInfo | undefined {
  const token = authorization?.replace("Bearer ", "");
  if (token === undefined) return undefined;
  const sub = token.split(".")[0] ?? "";
  const resource = new URL("https://mcp.example/mcp");
  return { token, clientId: "desk", scopes: ["tools"], resource, extra: { sub } };
}

const authenticating = {
  before: (req: IncomingMessage) => {
    Object.assign(req, { auth: authInfoOf(req.headers.authorization) });
  },
};
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe.each(builds)("SDK %s", (_sdk, build) => {
  test(`${verifies("S-06")}a handler is told who calls; a session is its principal's alone`, async () => {
    const seen: (AuthInfo | undefined)[] = [];
    const { url, made } = await serve(
      build,
      {
        work: async ({ authInfo, header }) => {
          seen.push(authInfo);
          return header("x-tenant");
        },
      },
      { ...authenticating },
    );
    const session = await openSession(url, as("ann.1"));
    const headers = { "x-tenant": "t7" };
    expect(textOf(await (await session.call("work", {}, { headers })).response())).toBe("t7");
    const refreshed = { ...as("ann.2").headers, "x-tenant": "t8" };
    const again = await session.call("work", {}, { headers: refreshed });
    expect(textOf(await again.response())).toBe("t8");
    expect(seen).toEqual([authInfoOf("ann.1"), authInfoOf("ann.2")]);
    expect((await session.call("work", {}, as("bob.1"))).status).toBe(404);
    expect((await session.call("work", {}, { headers: { authorization: undefined } })).status).toBe(
      404,
    );
    expect(seen).toHaveLength(2);
    expect(made[0]?.principal).toBe('["auth",null,"ann","desk"]');
  });

  test(`${verifies("S-06")}by the word of a middleware, who has none is refused`, async () => {
    const { url } = await serve(
      build,
      { work: async ({ authInfo }) => authInfo?.clientId },
      { ...authenticating, authenticate: byAuthInfo(({ extra }) => String(extra?.["sub"])) },
    );
    const session = await openSession(url, as("ann.1"));
    expect(textOf(await (await session.call("work")).response())).toBe("desk");
    const refused = await session.call("work", {}, { headers: { authorization: undefined } });
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toBe("Bearer");
  });

  test(`${verifies("S-07", "X-05")}after a restart the next server is told what went before, and hears it`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-sdk-"));
    onDispose(() => rm(directory, { recursive: true, force: true }));
    const log = () => sqliteLog(join(directory, "sessions.db"));
    const levels: string[] = [];
    const told = {
      work: async () => "done",
      onLevel: (level: string) => void levels.push(level),
    };
    const first = await serve(build, told, { log: log() });
    const capabilities = { roots: { listChanged: true } };
    const clientInfo = { name: "restarting", version: "2.0.0" };
    const session = await openSession(first.url, { capabilities, clientInfo });
    await (await session.request("logging/setLevel", { level: "warning" })).response();
    await (await session.call("work")).response();
    const client = { clientInfo, capabilities };
    expect(first.made).toEqual([expect.objectContaining({ client, restored: undefined })]);
    await first.handler.close();

    const second = await serve(build, told, { log: log() });
    const headers = { "mcp-session-id": session.sessionId };
    const moved = await openAgain(second.url, headers);
    expect(textOf(moved)).toBe("done");
    const restored = {
      protocolVersion: "2025-11-25",
      logLevel: "warning",
      subscriptions: [] as string[],
    };
    const went = { sessionId: session.sessionId, client, restored };
    expect(second.made.at(-1)).toEqual(expect.objectContaining(went));
    expect(levels).toEqual(["warning", "warning"]);
  });
});

/** A call in a session that another server began. */
async function openAgain(url: string, headers: Readonly<Record<string, string>>) {
  const session = await openSession(url);
  return (await session.call("work", {}, { headers })).response();
}
