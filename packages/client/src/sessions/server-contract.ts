/**
 * What a server promises, and what follows for this client: the advertised capability, read with
 * care, and the guarantees that do not hold [C K-11]. Pure.
 */
import {
  formatDuration,
  idempotencyHeader,
  type JsonObject,
  type ResumeCapability,
  resumeCapabilityKey,
} from "@holdfast/contract";
import type { ContractReport, Shortfall } from "../app-events.ts";

/** @returns null when the server does not advertise the contract in a form that is understood */
export function readCapability(result: JsonObject): ResumeCapability | null {
  const { capabilities } = result;
  const { experimental } = members(capabilities);
  const offered = members(members(experimental)[resumeCapabilityKey]);
  const numbers = ["windowMs", "maxEvents", "maxBytes", "idleTtlMs", "retryMs", "heartbeatMs"];
  const isWhole = numbers.every((name) => isDuration(offered[name]));
  const isDurability = ["power", "process", "memory"].includes(String(offered.durability));
  if (offered.contract !== 1 || !isWhole || !isDurability) return null;
  const { idempotency, ...rest } = offered;
  const keys = members(idempotency);
  const hasKeys = keys.header === idempotencyHeader && isDuration(keys.ttlMs);
  // Every member was looked at above.
  return { ...rest, ...(hasKeys ? { idempotency: keys } : {}) } as unknown as ResumeCapability;
}

/** [C K-09] Keys are kept for longer than this client may take to send a request again. */
export function keepsKeys(capability: ResumeCapability | null, worstCaseMs: number): boolean {
  return (capability?.idempotency?.ttlMs ?? 0) > worstCaseMs;
}

/** The same of a request that was sent long ago: by a process that died, say. */
export function stillKeepsKey(
  capability: ResumeCapability | null,
  { sentMs, wallMs, worstCaseMs }: Readonly<Record<"sentMs" | "wallMs" | "worstCaseMs", number>>,
): boolean {
  return keepsKeys(capability, worstCaseMs + Math.max(0, wallMs - sentMs));
}

/**
 * [C K-07] Whether a key that was used in one session is known in the next. It may be scoped to its
 * session [C X-03], unless the server says otherwise; and where a log is in memory, what has ended
 * the session may have been the restart that took the keys along.
 */
export function keysReachAcross(capability: ResumeCapability | null): boolean {
  const scope = capability?.idempotency?.scope;
  return (scope === "principal" || scope === "shared") && capability?.durability !== "memory";
}

export interface ContractQuestion {
  readonly result: JsonObject;
  /** Of the server before, where this is a renewal. */
  readonly previous: JsonObject | null;
  readonly hasSession: boolean;
  readonly isStateDurable: boolean;
  readonly worstCaseReconnectMs: number;
}

export function reportContract(question: ContractQuestion): ContractReport {
  const { result, previous, hasSession, isStateDurable, worstCaseReconnectMs } = question;
  const capability = readCapability(result);
  const types = [
    hasSession ? undefined : "no-session",
    ...serverShortfalls(capability, worstCaseReconnectMs),
    isStateDurable ? undefined : "memory-state",
    previous !== null && isOtherServer(previous, result) ? "server-changed" : undefined,
  ] as const;
  const shortfalls = types.flatMap((type): Shortfall[] =>
    type === undefined
      ? []
      : [{ type, message: messageOf(type, capability, worstCaseReconnectMs) }],
  );
  return { capability, worstCaseReconnectMs, shortfalls };
}

type ShortfallType = Shortfall["type"];

function serverShortfalls(
  capability: ResumeCapability | null,
  worstCaseMs: number,
): (ShortfallType | undefined)[] {
  if (capability === null) return ["no-resume-contract"];
  const { windowMs, heartbeatMs, durability } = capability;
  return [
    windowMs <= worstCaseMs ? "window-within-reconnect" : undefined,
    keepsKeys(capability, worstCaseMs) ? undefined : "no-idempotency",
    heartbeatMs === 0 ? "no-heartbeat" : undefined,
    durability === "memory" ? "memory-log" : undefined,
  ];
}

function messageOf(
  type: ShortfallType,
  capability: ResumeCapability | null,
  worstCaseMs: number,
): string {
  if (type !== "window-within-reconnect") return messages[type];
  return (
    `The server keeps events for ${formatDuration(capability?.windowMs ?? 0)}, but this client ` +
    `may take up to ${formatDuration(worstCaseMs)} to come back: it could find them gone. Make ` +
    "the server's window longer, or the client's reconnect policy shorter."
  );
}

const messages: Readonly<Record<Exclude<ShortfallType, "window-within-reconnect">, string>> = {
  "no-session":
    "The server names no session: what is cut off cannot be resumed, and calls end as unknown.",
  "no-resume-contract":
    "The server does not say that it keeps sessions: lost events may pass unseen, and a cut call " +
    "may end as unknown.",
  "no-idempotency":
    "The server keeps no idempotency keys, or not for long enough: a call that is cut before its answer begins ends as " +
    "unknown, unless it only reads.",
  "no-heartbeat":
    "The server sends no heartbeats: a connection that dies silently is noticed late.",
  "memory-log": "The server keeps events in memory: its restart ends the session.",
  "memory-state":
    "This client keeps its state in memory: calls in flight are lost with its process.",
  "server-changed":
    "Another server, or another version, answered for the session: what it offers may differ.",
};

function isOtherServer(before: JsonObject, now: JsonObject): boolean {
  const facts = ({ serverInfo, capabilities, protocolVersion }: JsonObject) =>
    JSON.stringify([serverInfo, capabilities, protocolVersion]);
  return facts(before) !== facts(now);
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
