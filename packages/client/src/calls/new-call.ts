/** Makes calls: ids for the wire, a key, and whether it may be repeated [C K-14] [C X-03]. */
import { randomBytes } from "node:crypto";
import {
  isRepeatableMethod,
  type JsonObject,
  nameOf,
  numbered,
  parseMessage,
  type RequestId,
  type ResumeCapability,
} from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import { keepsKeys, keysReachAcross } from "../sessions/server-contract.ts";
import type { StoredCall } from "../state/client-state.ts";
import { endCall } from "./call-ends.ts";
import { requestDigest } from "./identical.ts";
import type { Call } from "./ledger.ts";
import type { CallEnd } from "./outcomes.ts";

/** A message of the application. */
export interface Written {
  readonly message: JsonObject;
  /** As the application wrote it; undefined: it is for us to write. */
  readonly text?: string | undefined;
}

/**
 * A call of the application.
 *
 * @param written - a request
 * @param intercept - is shown the end first, and hands it on
 */
export function appCall(
  connection: Connection,
  id: RequestId,
  { message, text }: Written,
  capability: ResumeCapability | null,
  intercept: (end: CallEnd, handOn: (end: CallEnd) => void) => void = (end, handOn) => handOn(end),
): Call {
  const wireId = connection.ids.next();
  const trace = connection.settings.telemetry.beginCall(message, nameOfMessage(message));
  const renumbered = rewritten(message, wireId);
  const onWire = trace?.outbound(renumbered.onWire) ?? renumbered.onWire;
  const isHarmless = connection.annotations.isSafe(message);
  const isKeyed = capability?.idempotency !== undefined;
  const hasKeys = keepsKeys(capability, connection.settings.worstCaseMs);
  const written = text === undefined ? undefined : (trace?.outboundText(text, message) ?? text);
  const body = written === undefined ? JSON.stringify(onWire) : numbered(written, wireId);
  const stored = storedCall(connection, onWire, {
    ...{ wireId, appId: JSON.stringify(id), body },
    idempotencyKey: isKeyed ? randomBytes(16).toString("hex") : null,
    isSafe: isHarmless || hasKeys,
    isSafeAcross: isHarmless || (hasKeys && keysReachAcross(capability)),
  });
  const call: Call = {
    ...{ wireId, stored, message: onWire, isHarmless, trace },
    caller: { kind: "app", id, progressToken: renumbered.progressToken },
    sent: Promise.withResolvers<void>(),
    isAccepted: false,
    onEnd: (end) => {
      trace?.end(end);
      intercept(end, (shown) => endCall(connection, call, shown));
    },
  };
  connection.ledger.add(call);
  return call;
}

/** A call of the transport itself. @param onEnd - once */
export function internalCall(
  connection: Connection,
  method: string,
  params: JsonObject,
  onEnd: (end: CallEnd) => void,
): Call {
  const wireId = connection.ids.next();
  const message = { jsonrpc: "2.0", id: wireId, method, params };
  const isSafe = isRepeatableMethod(method);
  const stored = storedCall(connection, message, {
    ...{ wireId, appId: String(wireId), body: JSON.stringify(message) },
    ...{ idempotencyKey: null, isSafe, isSafeAcross: isSafe },
  });
  const sent = Promise.withResolvers<void>();
  // Nobody called `send` for it: its rejection, when the transport is closed, is for nobody.
  sent.promise.catch(() => {});
  const call: Call = {
    ...{ wireId, stored, message, sent, isHarmless: isSafe, isAccepted: false, onEnd },
    caller: { kind: "internal" },
  };
  connection.ledger.add(call);
  return call;
}

function storedCall(
  { settings }: Connection,
  message: JsonObject,
  facts: Omit<StoredCall, "session" | "method" | "name" | "digest" | "startedAtMs">,
): StoredCall {
  const method = String(message.method);
  return {
    ...facts,
    // None yet: it is noted with the one that it goes out in.
    session: 0,
    method,
    name: nameOfMessage(message) ?? null,
    digest: requestDigest(method, Object(message.params) as JsonObject),
    startedAtMs: settings.internals.clock.wallMs(),
  };
}

function nameOfMessage(message: JsonObject): string | undefined {
  const parsed = parseMessage(message);
  return parsed.kind === "invalid" ? undefined : nameOf(parsed);
}

/** [C K-14] the id on the wire is the progress token, too. */
function rewritten(
  message: JsonObject,
  wireId: number,
): { readonly onWire: JsonObject; readonly progressToken: unknown } {
  const params = Object(message.params) as JsonObject;
  const meta = Object(params._meta) as JsonObject;
  const { progressToken } = meta;
  const withId = { ...message, id: wireId };
  if (progressToken === undefined) return { onWire: withId, progressToken };
  const marked = { ...params, _meta: { ...meta, progressToken: wireId } };
  return { onWire: { ...withId, params: marked }, progressToken };
}
