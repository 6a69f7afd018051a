/**
 * What a session keeps of itself in the log: its setup journal, from which a fresh upstream is
 * brought to where the session is [C S-07], and what was negotiated.
 */
import { isPrimedVersion } from "@holdfast/contract";
import type { IncomingNotification, IncomingRequest } from "./incoming.ts";

export interface SessionData {
  /** `initialize` as the client sent it, JSON text. */
  readonly initialize: string;
  /** `clientInfo.name`, where it was given. */
  readonly clientName: string | undefined;
  /** Set once the upstream has answered `initialize`. */
  readonly version: string | undefined;
  /** `notifications/initialized` as it was sent. */
  readonly initialized: string | undefined;
  /** The newest `logging/setLevel`. */
  readonly level: string | undefined;
  /** `resources/subscribe` by URI. */
  readonly subscriptions: Readonly<Record<string, string>>;
  /** Of upstreams that outlive this process alone. */
  readonly upstream?: UpstreamProgress;
}

/** How far the session has come with its upstream. */
export interface UpstreamProgress {
  /** The upstream's own text. */
  readonly kept: string;
  /** Request ids up to here were used. */
  readonly lastNumber: number;
  /** The calls that it has. */
  readonly calls: readonly KeptCall[];
}

/** A call at the upstream: where it belongs is not known to the log by its number. */
export interface KeptCall {
  readonly number: number;
  readonly stream: number;
  readonly index: number;
  readonly tokenJson?: string;
}

export function newSessionData(initialize: string, clientName: string | undefined): SessionData {
  return {
    initialize,
    clientName,
    version: undefined,
    initialized: undefined,
    level: undefined,
    subscriptions: {},
  };
}

/**
 * The journal after a message of the client.
 *
 * @returns the same value when the message sets nothing up
 */
export function journal(
  data: SessionData,
  message: IncomingRequest | IncomingNotification,
): SessionData {
  const uri = message.params?.["uri"];
  switch (message.method) {
    case "notifications/initialized":
      return { ...data, initialized: message.text };
    case "logging/setLevel":
      return { ...data, level: message.text };
    case "resources/subscribe":
      if (typeof uri !== "string") return data;
      return { ...data, subscriptions: { ...data.subscriptions, [uri]: message.text } };
    case "resources/unsubscribe": {
      if (typeof uri !== "string") return data;
      const { [uri]: _ended, ...subscriptions } = data.subscriptions;
      return { ...data, subscriptions };
    }
    default:
      return data;
  }
}

/**
 * [C E-05] Whether this client's streams begin with a priming event, not with a comment.
 *
 * @param noPrime - names of clients whose parsers fail on it
 */
export function isPrimed(
  { version, clientName }: SessionData,
  noPrime: readonly string[],
): boolean {
  if (version === undefined || !isPrimedVersion(version)) return false;
  return clientName === undefined || !noPrime.includes(clientName);
}

export function writeSessionData(data: SessionData): string {
  return JSON.stringify(data);
}

/** @throws SyntaxError when the text is not what {@link writeSessionData} wrote */
export function readSessionData(text: string): SessionData {
  return { ...newSessionData("", undefined), ...(JSON.parse(text) as SessionData) };
}
