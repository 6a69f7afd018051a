/** One session as this client knows it, and the headers that name it on the wire. */
import type { JsonObject, ResumeCapability } from "@holdfast/contract";
import type { SessionSetup, StoredSession } from "../state/client-state.ts";
import { readCapability } from "./server-contract.ts";

export interface Session {
  /** In the state. */
  readonly key: number;
  standing:
    | "fresh"
    /** Requests go here. */
    | "current"
    /** Only what was begun in it is brought to its end [C K-10]. */
    | "draining"
    /** Its id is never sent again. */
    | "over";
  sessionId: string | null;
  version: string | null;
  params: JsonObject;
  result: JsonObject;
  capability: ResumeCapability | null;
  setup: SessionSetup;
}

export const nothingSet: SessionSetup = { logLevel: null, subscriptions: [] };

export function freshSession(key: number, params: JsonObject): Session {
  const standing = "fresh";
  const names = { sessionId: null, version: null };
  return { key, standing, ...names, params, result: {}, capability: null, setup: nothingSet };
}

export function restoredSession(stored: StoredSession): Session {
  const { key, sessionId, version, params, result, setup } = stored;
  const capability = readCapability(result);
  return { key, standing: "fresh", sessionId, version, params, result, capability, setup };
}

export function storedOf(session: Session, url: URL): StoredSession {
  const { key, sessionId, version, params, result, setup } = session;
  return { key, url: url.href, sessionId, version, params, result, setup };
}

export function sessionHeaders({ sessionId, version }: Session): Record<string, string> {
  return {
    // [C R-09] this client understands a 410.
    "mcp-resume-contract": "1",
    ...(sessionId === null ? {} : { "mcp-session-id": sessionId }),
    ...(version === null ? {} : { "mcp-protocol-version": version }),
  };
}

/** An id as a header's value: the bytes of its UTF-8, each as one character [spec]. */
export function cursorHeader(cursor: string): Record<string, string> {
  return { "last-event-id": Buffer.from(cursor, "utf8").toString("latin1") };
}

/** [C K-07] what is to be set again, after this request was answered by a result. */
export function setupAfter(setup: SessionSetup, method: string, params: JsonObject): SessionSetup {
  const uri = String(params.uri);
  const others = setup.subscriptions.filter((one) => one !== uri);
  switch (method) {
    case "logging/setLevel":
      return { ...setup, logLevel: params };
    case "resources/subscribe":
      return { ...setup, subscriptions: [...others, uri] };
    case "resources/unsubscribe":
      return { ...setup, subscriptions: others };
    default:
      return setup;
  }
}
