/**
 * The options of one start of `holdfast serve`, read into values, and what they must agree on.
 *
 * Pure: arguments and environment come in, values or a sentence come out.
 */
import { checkRetention } from "@holdfast/contract";
import { defaultOptions, type RuntimeOptions } from "@holdfast/server";
import type { RequestLimits } from "./listen.ts";
import {
  createOptionReader,
  type Env,
  type GivenOptions,
  type OptionReader,
  type WrongUse,
} from "./option-reader.ts";
import { serveOptionRows } from "./option-rows.ts";
import {
  type AuthChoice,
  isLoopback,
  isWildcard,
  type LogPlace,
  logLevels,
  oneOf,
  parseAdminPort,
  parseAuth,
  parseFlag,
  parseHostName,
  parseLog,
  parseNonEmpty,
  parseOptional,
  parseOrigin,
  parsePath,
  parsePublicUrl,
} from "./option-values.ts";
import { parseDuration, parseLapse, parseSize, parseWhole } from "./units.ts";
import { readUpstream, type UpstreamChoice } from "./upstream-options.ts";

/** The event log, and what an acknowledged event in it survives. */
export type LogChoice =
  | Extract<LogPlace, { readonly kind: "memory" | "postgres" }>
  | (Extract<LogPlace, { readonly kind: "redis" }> & { readonly isStrict: boolean })
  | (Extract<LogPlace, { readonly kind: "sqlite" }> & {
      readonly durability: "process" | "power";
    });

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** How clients reach the endpoint, path included; where it listens is the default. */
  readonly publicUrl: string | undefined;
  readonly admin: AdminOptions;
  readonly auth: AuthChoice;
  /** What a token must be made for; the public URL is the default. */
  readonly audience: string | undefined;
  /** The HTTP server that is fronted; undefined: a command is. */
  readonly upstream: UpstreamChoice | undefined;
  readonly log: LogChoice;
  readonly logLevel: string;
  readonly runtime: RuntimeOptions;
  /** Largest message that is taken from the upstream, bytes. */
  readonly eventBytesMax: number;
  readonly requests: RequestLimits;
  /** How long a stop may take, milliseconds [C D-02]. */
  readonly drainTimeoutMs: number;
}

/** Dashboard, metrics and health. */
export interface AdminOptions {
  readonly host: string;
  /** `auto`: the usual one, or a free one where that is in use; which one, is said. */
  readonly port: number | "auto" | "off";
  /** Whoever asks the API has to show it. */
  readonly token: string | undefined;
  /** The page may show the messages of sessions. */
  readonly showsBodies: boolean;
}

export type ServeOptionsOutcome =
  | { readonly kind: "options"; readonly options: ServeOptions }
  | ({ readonly kind: "wrong" } & WrongUse);

/**
 * Read the options of one start: command line over variable over default.
 *
 * @param given - what the command line says
 * @param env - the environment
 * @param fallbacks - other defaults for some of the options, by name
 * @returns the options, or what is wrong; never throws for what a user wrote
 */
export function readServeOptions(
  given: GivenOptions,
  env: Env,
  fallbacks: Readonly<Record<string, string>> = {},
): ServeOptionsOutcome {
  const table = { command: "serve", rows: serveOptionRows, fallbacks };
  const reader = createOptionReader(given, env, table);
  const host = reader.value("host", parseNonEmpty);
  const path = reader.value("path", parsePath);
  const auth = reader.value("auth", parseAuth);
  const { upstream, forwardHeaders } = readUpstream(reader, given, env);
  const options: ServeOptions = {
    host,
    port: reader.value("port", (text) => parseWhole(text, 0, 65_535)),
    publicUrl: readPublicUrl(reader, path),
    admin: readAdmin(reader),
    auth,
    audience: reader.value("audience", parseOptional),
    upstream,
    log: readLog(reader),
    logLevel: reader.value("log-level", oneOf(logLevels)),
    runtime: {
      ...readRuntimeOptions(reader),
      path,
      forwardHeaders,
      // [C X-03] on loopback, whoever calls is the one user of the machine
      sharesKeys: auth.kind === "none" && isLoopback(host),
    },
    eventBytesMax: reader.value("max-event", parseMessageSize),
    requests: readRequestLimits(reader),
    drainTimeoutMs: reader.value("drain-timeout", parseDuration),
  };
  const wrong =
    reader.problems[0] ??
    checkWindow(options.runtime) ??
    checkAuth(options) ??
    checkAdmin(options.admin);
  return wrong === undefined ? { kind: "options", options } : { kind: "wrong", ...wrong };
}

function readRuntimeOptions(reader: OptionReader): RuntimeOptions {
  const count = (name: string) => reader.value(name, (text) => parseWhole(text, 1, 1_000_000_000));
  return {
    ...defaultOptions,
    retention: {
      windowMs: reader.value("window", parseDuration),
      maxEvents: count("max-events"),
      maxBytes: reader.value("max-bytes", parseSize),
    },
    idleTtlMs: reader.value("idle-ttl", parseDuration),
    clientReconnectMs: reader.value("client-reconnect", parseDuration),
    idempotencyTtlMs: reader.value("idempotency-ttl", parseLapse),
    hibernateMs: reader.value("hibernate", parseDuration),
    leaseMs: reader.value("lease", parseLapse),
    heartbeatMs: reader.value("heartbeat", parseDuration),
    retryMs: reader.value("retry", parseDuration),
    viewportMaxMs: reader.value("viewport-max", parseDuration),
    gapSignal: reader.value("gap-signal", oneOf(["auto", "status", "in-band"])),
    noPrime: reader.list("no-prime"),
    allowedOrigins: reader.list("allowed-origin", parseOrigin),
    allowedHosts: reader.list("allowed-host", parseHostName),
    ledgerBytesMax: reader.value("max-key-bytes", parseSize),
    bodyBytesMax: reader.value("max-body", parseMessageSize),
    sessionsMax: count("max-sessions"),
    sessionsPerPrincipalMax: count("max-sessions-per-principal"),
    streamsPerSessionMax: count("max-streams"),
    callsPerSessionMax: count("max-calls"),
    viewportsMax: count("max-viewports"),
  };
}

/** One message must fit in memory, several times over; and the smallest that makes sense must fit. */
const messageBytes = { min: 1024, max: 256 * 2 ** 20 } as const;

const parseMessageSize = (text: string) => parseSize(text, messageBytes.min, messageBytes.max);

function readRequestLimits(reader: OptionReader): RequestLimits {
  const wholeRequestMs = reader.value("body-timeout", parseLapse);
  const headersMs = reader.value("header-timeout", parseLapse);
  return {
    // A part of a request has no more time than the whole of it.
    headersMs: Math.min(headersMs, wholeRequestMs),
    wholeRequestMs,
    keepAliveMs: reader.value("keep-alive", parseLapse),
  };
}

function readAdmin(reader: OptionReader): AdminOptions {
  return {
    host: reader.value("admin-host", parseNonEmpty),
    port: reader.value("admin-port", parseAdminPort),
    token: reader.value("admin-token", parseOptional),
    showsBodies: reader.value("show-bodies", parseFlag),
  };
}

function readLog(reader: OptionReader): LogChoice {
  const log = reader.value("log", parseLog);
  const durability = reader.value("durability", oneOf(["process", "power"] as const));
  const isStrict = reader.value("strict", parseFlag);
  if (isStrict && log.kind !== "redis") {
    reader.problems.push({
      problem: "--strict belongs to a redis: log; others do not drop data by their configuration.",
      fix: "Leave it out.",
    });
  }
  if (log.kind === "sqlite") return { ...log, durability };
  const isShared = log.kind === "postgres" || log.kind === "redis";
  if (isShared && reader.isGiven("max-key-bytes")) {
    reader.problems.push({
      problem: "--max-key-bytes belongs to a sqlite: or memory: log.",
      fix: "Leave it out: the limits of the store are the bound there.",
    });
  }
  if (reader.isGiven("durability")) {
    reader.problems.push({
      problem: `--durability belongs to a sqlite: log; ${ownDurability[log.kind]}.`,
      fix: "Leave it out, or keep the log in a file: --log sqlite:./holdfast.db",
    });
  }
  return log.kind === "redis" ? { ...log, isStrict } : log;
}

const ownDurability = {
  memory: "a memory: log survives nothing",
  redis: "what a redis: log acknowledges survives what its server is configured for",
  postgres: "what a postgres: log acknowledges is on the disk of its database",
} as const;

/** Without a path of its own, the public URL is the place of the endpoint's path. */
function readPublicUrl(reader: OptionReader, path: string): string | undefined {
  const url = reader.value("public-url", parsePublicUrl);
  if (url === undefined) return undefined;
  return url.pathname === "/" ? new URL(path, url).href : url.href;
}

/** [C W-02] */
function checkWindow(options: RuntimeOptions): WrongUse | undefined {
  const { retention, idleTtlMs, clientReconnectMs } = options;
  const verdict = checkRetention({ windowMs: retention.windowMs, idleTtlMs, clientReconnectMs });
  if (verdict.ok) return undefined;
  return { problem: verdict.message };
}

/** Whoever reaches the port may end sessions: beyond this machine, not without a token. */
function checkAdmin({ host, port, token }: AdminOptions): WrongUse | undefined {
  if (port === "off" || isLoopback(host) || (token?.length ?? 0) >= adminTokenCharsMin) {
    return undefined;
  }
  const fault = token === undefined ? "there is no token" : "the token is too short";
  return {
    problem: `--admin-host ${host}: others can reach it, and ${fault}.`,
    fix: `Set HOLDFAST_ADMIN_TOKEN to at least ${adminTokenCharsMin} characters, or leave it on 127.0.0.1.`,
  };
}

/** What cannot be guessed over a network. */
const adminTokenCharsMin = 16;

function checkAuth({ auth, audience, publicUrl, host }: ServeOptions): WrongUse | undefined {
  if (auth.kind !== "jwt") {
    if (audience === undefined) return undefined;
    return {
      problem: `--audience belongs to --auth jwt:ISSUER; --auth is ${auth.kind}.`,
      fix: "Leave it out, or name the issuer of the tokens: --auth jwt:https://id.example",
    };
  }
  if (audience !== undefined || publicUrl !== undefined || !isWildcard(host)) return undefined;
  return {
    problem: `--auth jwt: what tokens must be made for is not known, since ${host} is no name.`,
    fix: "Say how clients reach this server, like: --public-url https://mcp.example/mcp",
  };
}
