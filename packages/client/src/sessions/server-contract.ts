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

/**
 * Whether a key that was used in one session is known in the next. Keys without authentication may
 * be scoped to their session [C X-03]: only a server that says otherwise is believed.
 */
export function keysReachAcross(capability: ResumeCapability | null): boolean {
  const scope: unknown = members(capability?.idempotency).scope;
  return scope === "principal" || scope === "shared";
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
  const { windowMs, idempotency, heartbeatMs, durability } = capability;
  return [
    windowMs <= worstCaseMs ? "window-within-reconnect" : undefined,
    idempotency === undefined ? "no-idempotency" : undefined,
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
    "The server keeps no idempotency keys: a call that is cut before its answer begins ends as " +
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
