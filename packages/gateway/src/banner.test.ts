import { expect, test } from "vitest";
import type { AdminPlace } from "./admin/admin.ts";
import { banner, commandPhrase, servedPhrase } from "./banner.ts";
import { parseServeOptions } from "./command-line.ts";

function bannerOf(...argv: string[]): string {
  return bannerWith(undefined, ...argv);
}

function bannerWith(admin: AdminPlace | undefined, ...argv: string[]): string {
  const outcome = parseServeOptions(argv, {});
  if (outcome.kind === "wrong") throw new Error(outcome.problem);
  const url = "http://127.0.0.1:8848/mcp";
  const facts = { version: "1.2.3", url, admin, options: outcome.options };
  return banner({ ...facts, serving: "node server.js (one process for each session)" });
}

test("it names version, URL, log, command, the window rule and the way to stop", () => {
  expect(bannerOf()).toBe(`Holdfast 1.2.3 listens on http://127.0.0.1:8848/mcp
  log      sqlite:./holdfast.db (survives the death of this process)
  serving  node server.js (one process for each session)
  window   clients may be away for up to 30 min; a session keeps at most 10000 events, 64 MB
  stop     Ctrl-C; sessions go on at the next start on the same log
`);
});

test("it promises no more than the log holds", () => {
  expect(bannerOf("--durability", "power")).toContain("(survives power loss)");
  const shared = bannerOf("--log", "postgres://me:secret@db.example/mcp");
  expect(shared).toContain("postgres://…@db.example/mcp (shared by any number of nodes)");
  const memory = bannerOf("--log", "memory:");
  expect(memory).toContain("gone when this process ends");
  expect(memory).not.toContain("next start");
});

test("it says where the admin port is, and why not where it is looked for", () => {
  const origin = "http://127.0.0.1:8849";
  expect(bannerWith({ origin })).toContain(
    `\n  admin    ${origin} (dashboard, /metrics, /readyz)\n`,
  );
  expect(bannerWith({ origin, insteadOf: 8849 })).toContain("/readyz; 8849 is in use)");
});

test("on all addresses it says whose requests are answered, unless that was thought of", () => {
  expect(bannerOf("--host", "0.0.0.0")).toContain("--allowed-host");
  expect(bannerOf("--host", "::", "--allowed-host", "mcp.example")).not.toContain("--allowed-host");
});

test("a server at a URL is named by it", () => {
  const phrase = servedPhrase({ kind: "url", url: new URL("http://a.example/mcp"), headers: {} });
  expect(phrase).toContain("http://a.example/mcp");
});

test("a command reads as a shell would take it", () => {
  expect(commandPhrase(["npx", "-y", "@scope/x@1.0"])).toBe("npx -y @scope/x@1.0");
  expect(commandPhrase(["sh", "-c", "it's $HOME", ""])).toBe(`sh -c 'it'\\''s $HOME' ''`);
});
