/** Texts of options, each by itself, as values: places, names, URLs. Pure. */
import { type Parsed, parseWhole } from "./units.ts";

/** Where the event log is; the logs of this version. */
export type LogPlace =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string }
  /** With user and password, it may be: not for people. */
  | { readonly kind: "postgres"; readonly url: string }
  | { readonly kind: "redis"; readonly url: string };

/** Who may ask [C S-06]. */
export type AuthChoice =
  | { readonly kind: "none" }
  /** Lines `TOKEN SUBJECT`. */
  | { readonly kind: "bearer"; readonly file: string }
  | { readonly kind: "jwt"; readonly issuer: string };

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export function parseLog(text: string): Parsed<LogPlace> {
  if (text === "memory:" || text === "memory") return taken({ kind: "memory" });
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (path !== undefined) return taken({ kind: "sqlite", path });
  const shown = withoutPassword(text);
  if (/^postgres(ql)?:\/\//.test(text)) {
    const isWhole = URL.canParse(text) && new URL(text).pathname.length > 1;
    return isWhole
      ? taken({ kind: "postgres", url: text })
      : wrong(`"${shown}" names no database; write it like postgres://user@host/database`);
  }
  if (/^rediss?:\/\//.test(text)) {
    return URL.canParse(text) && new URL(text).hostname !== ""
      ? taken({ kind: "redis", url: text })
      : wrong(`"${shown}" names no server; write it like redis://host:6379`);
  }
  const kinds = "sqlite:FILE, redis://…, postgres://…, memory:";
  return wrong(`"${shown}" is no log of this version; it has ${kinds}`);
}

export function parseAuth(text: string): Parsed<AuthChoice> {
  if (text === "none") return taken({ kind: "none" });
  const [, kind, rest = ""] = /^(bearer|jwt):(.+)$/.exec(text) ?? [];
  if (kind === "bearer") return taken({ kind, file: rest });
  if (kind !== "jwt") {
    return wrong(`"${withoutPassword(text)}" is none of none, bearer:FILE, jwt:ISSUER`);
  }
  // The text counts as it is: an issuer is compared letter by letter [RFC 8414 3.3].
  const isIssuer = isTrustworthy(rest) && !/[?#]/.test(rest);
  return isIssuer ? taken({ kind, issuer: rest }) : wrong(issuerProblem(rest));
}

/** An absolute URL of the web, without what no endpoint has; empty: none. */
export function parsePublicUrl(text: string): Parsed<URL | undefined> {
  if (text === "") return taken(undefined);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && isWeb(url) && !/[?#]/.test(text) && url.username === "";
  if (isPlain && url.password === "") return taken(url);
  return wrong(`"${withoutPassword(text)}" is no URL; write it like https://mcp.example/mcp`);
}

/** An origin as browsers send it: scheme, name, and port where it is not the scheme's own. */
export function parseOrigin(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && isWeb(url) && url.href === `${url.origin}/`) return taken(url.origin);
  const meant = url !== undefined && isWeb(url) ? url.origin : "https://app.example";
  return wrong(`"${withoutPassword(text)}" is no origin; write it like ${meant}`);
}

/** A `Host` header: a name for any port, or name and port; an IPv6 address in brackets. */
export function parseHostName(text: string): Parsed<string> {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i.test(text)) return taken(text);
  const url = text.includes("://") && URL.canParse(text) ? new URL(text) : undefined;
  const isBareV6 = /^[0-9a-f]*:[0-9a-f:.]+$/i.test(text);
  const meant = url?.host || (isBareV6 ? `[${text}]` : "mcp.example:8443");
  return wrong(`"${withoutPassword(text)}" is no host; write it like ${meant}`);
}

export function parsePath(text: string): Parsed<string> {
  if (/^\/[\x21-\x7e]*$/.test(text) && !/[?#]/.test(text)) return taken(text);
  return wrong(`"${text}" is no path; write it like /mcp`);
}

/** `auto`, 0 for none, or a port. */
export function parseAdminPort(text: string): Parsed<number | "auto" | "off"> {
  if (text === "auto") return taken("auto");
  const port = parseWhole(text, 0, 65_535);
  if (!port.ok) return wrong(`${port.problem}; or auto`);
  return taken(port.value === 0 ? "off" : port.value);
}

/** An option that is only said: its variable is set to a word of yes or no. */
export function parseFlag(text: string): Parsed<boolean> {
  const word = text.toLowerCase();
  if (["1", "true", "yes", "on"].includes(word)) return taken(true);
  if (["", "0", "false", "no", "off"].includes(word)) return taken(false);
  return wrong(`"${text}" is neither true nor false`);
}

export function parseNonEmpty(text: string): Parsed<string> {
  return text === "" ? wrong("the value is empty") : taken(text);
}

/** Empty: none. */
export function parseOptional(text: string): Parsed<string | undefined> {
  return taken(text === "" ? undefined : text);
}

export function oneOf<const T extends string>(choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const value = choices.find((choice) => choice === text);
    return value === undefined
      ? wrong(`"${text}" is not one of ${choices.join(", ")}`)
      : taken(value);
  };
}

/** This machine itself, and no other. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host);
}

/** All addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/**
 * Keys that came by a way on which others can write would prove nothing: https is none, and no way
 * within this machine.
 */
export function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  return protocol === "https:" || (protocol === "http:" && isLoopback(name));
}

function issuerProblem(text: string): string {
  return `"${withoutPassword(text)}" is no issuer; write it as its tokens do, like https://id.example`;
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

/** [C P-03] the address of a store may hold its password. */
export function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//…@");
}

function taken<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

function wrong(problem: string): Parsed<never> {
  return { ok: false, problem };
}
