/** What a start says on stdout, for people. Pure. */
import type { AdminPlace } from "./admin/admin.ts";
import type { Served } from "./command-line.ts";
import { isWildcard, withoutPassword } from "./option-values.ts";
import type { ServeOptions } from "./serve-options.ts";
import { durationPhrase, sizePhrase } from "./units.ts";

export interface BannerFacts {
  readonly version: string;
  readonly url: string;
  readonly admin: AdminPlace | undefined;
  readonly options: ServeOptions;
  /** What is served, for people. */
  readonly serving: string;
}

export function banner({ version, url, admin, options, serving }: BannerFacts): string {
  const { windowMs, maxEvents, maxBytes } = options.runtime.retention;
  const rows = [
    ["log", logPhrase(options)],
    ["serving", serving],
    [
      "window",
      `clients may be away for up to ${durationPhrase(windowMs)}; ` +
        `a session keeps at most ${maxEvents} events, ${sizePhrase(maxBytes)}`,
    ],
    ...adminRows(admin),
    ...callerRows(options),
    ...hostRows(options),
    ["stop", stopPhrase(options)],
  ];
  const lines = rows.map(([name = "", text]) => `  ${name.padEnd(8)} ${text}\n`);
  return `Holdfast ${version} listens on ${url}\n${lines.join("")}`;
}

function logPhrase({ log }: ServeOptions): string {
  if (log.kind === "memory") return "memory: (gone when this process ends)";
  if (log.kind !== "sqlite") return `${withoutPassword(log.url)} (shared by any number of nodes)`;
  const survives = log.durability === "power" ? "power loss" : "the death of this process";
  return `sqlite:${log.path} (survives ${survives})`;
}

function stopPhrase({ log }: ServeOptions): string {
  if (log.kind === "memory") return "Ctrl-C";
  return "Ctrl-C; sessions go on at the next start on the same log";
}

/** What stands behind the gateway, for people. */
export function servedPhrase(served: Served): string {
  if (served.kind === "url") return `${served.url.href} (one session there for each session here)`;
  return `${commandPhrase([served.command, ...served.args])} (one process for each session)`;
}

/** A command as a shell would take it. */
export function commandPhrase(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(" ");
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function adminRows(admin: AdminPlace | undefined): string[][] {
  if (admin === undefined) return [];
  const { origin, insteadOf } = admin;
  const why = insteadOf === undefined ? "" : `; ${insteadOf} is in use`;
  return [["admin", `${origin} (dashboard, /metrics, /readyz${why})`]];
}

function callerRows({ auth }: ServeOptions): string[][] {
  switch (auth.kind) {
    case "none":
      return [];
    case "bearer":
      return [["callers", `those with a token in ${auth.file} (read again when it changes)`]];
    case "jwt":
      return [["callers", `those with a token of ${auth.issuer}`]];
  }
}

function hostRows({ host, publicUrl, runtime }: ServeOptions): string[][] {
  const isNamed = publicUrl !== undefined || runtime.allowedHosts.length > 0;
  if (!isWildcard(host) || isNamed) return [];
  return [
    ["note", "only loopback Hosts are answered; --allowed-host NAME adds the name you serve"],
  ];
}
