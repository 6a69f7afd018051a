/**
 * An event store for the SDK's own transports, on an event log: one store for one session, since the
 * SDK names its standalone stream alike in every session.
 *
 * What the SDK asks of a store is less than the contract: docs/sdk-servers.md says what is missing.
 */
import { createHash } from "node:crypto";
import {
  type EventPlace,
  encodeEventId,
  HoldfastError,
  parseEventId,
  standaloneStream,
} from "@holdfast/contract";
import type { EventLog, Op, SessionId } from "@holdfast/log";
import { bounds } from "../options.ts";

/** `EventStore` of SDK v1 and v2. */
export interface SdkEventStore {
  storeEvent(streamId: string, message: unknown): Promise<string>;
  getStreamIdForEventId(eventId: string): Promise<string | undefined>;
  replayEventsAfter(
    lastEventId: string,
    to: { send(eventId: string, message: never): Promise<void> },
  ): Promise<string>;
}

const standaloneName = "_GET_stream";

/**
 * Keep the events of one session of the SDK's transport in a log.
 *
 * @param log - open; its opener sweeps and closes it. No session runtime may hold it
 * @param sessionId - what the transport's `sessionIdGenerator` gives
 * @returns `replayEventsAfter` throws `ERR_CURSOR_REFUSED` for a cursor that cannot be honoured: it
 * never goes on at the head in silence
 */
export function sdkEventStore(log: EventLog, sessionId: string): SdkEventStore {
  const session = sessionId as SessionId;
  const tag = createHash("sha256").update(sessionId).digest("hex").slice(0, 16);
  const begun = new Map<string, Promise<EventPlace>>();
  let created: Promise<EventPlace> | undefined;

  const commit = async (ops: readonly Op[]) => {
    const outcome = await log.commit(session, { fence: 0, ops });
    if (outcome.kind === "committed") return outcome;
    throw new HoldfastError(
      "ERR_CURSOR_REFUSED",
      `The session's log takes no event: ${outcome.kind}.`,
    );
  };
  const create = async (): Promise<EventPlace> => {
    const found = await log.read(session, { tag, stream: 0, position: 0, incarnation: "" }, limit);
    const op: Op = { op: "create", tag, principal: "", data: "{}" };
    if (found.kind === "absent") return (await commit([op])).begun[0] as EventPlace;
    return { tag, stream: standaloneStream, position: 0, incarnation: "00000000" };
  };
  const begin = (name: string): Promise<EventPlace> => {
    created ??= create();
    if (name === standaloneName) return created;
    const known = begun.get(name);
    if (known !== undefined) return known;
    // The name goes where a call's id stands: it is found again after a restart.
    const call = { id: JSON.stringify(name), method: "sdk", startedAtMs: Date.now() };
    const opened = created
      .then(() => commit([{ op: "open", stream: "next", calls: [call] }]))
      .then((outcome) => outcome.begun[0] as EventPlace);
    begun.set(name, opened);
    return opened;
  };
  const nameOf = async ({ stream }: EventPlace): Promise<string | undefined> => {
    if (stream === standaloneStream) return standaloneName;
    const id = (await log.stream(session, stream))?.calls[0]?.id;
    return id === undefined ? undefined : (JSON.parse(id) as string);
  };

  return {
    storeEvent: async (name, message) => {
      const place = await begin(name);
      const sent = message as { readonly method?: unknown; readonly id?: unknown };
      // The SDK's priming event: a cursor, and no message.
      if (Object.keys(sent).length === 0) return encodeEventId(place);
      const text = JSON.stringify(message);
      const { stream } = place;
      const isResponse = sent.method === undefined && stream !== standaloneStream;
      const kind = sent.id === undefined ? "notification" : "request";
      const op: Op = isResponse
        ? { op: "append", stream, kind: "response", text, call: 0 }
        : { op: "append", stream, kind, text };
      const { appended } = await commit([op]);
      // What follows a response on its stream (arrays of 2025-03-26) begins another of this name.
      if (isResponse) begun.delete(name);
      return encodeEventId(appended[0] as EventPlace);
    },
    getStreamIdForEventId: async (eventId) => {
      const place = parseEventId(eventId);
      return place?.tag === tag ? nameOf(place) : undefined;
    },
    replayEventsAfter: async (lastEventId, { send }) => {
      let cursor = parseEventId(lastEventId);
      const name = cursor === undefined ? undefined : await nameOf(cursor);
      while (cursor !== undefined && name !== undefined) {
        const outcome = await log.read(session, cursor, limit);
        if (outcome.kind === "finished") return name;
        if (outcome.kind !== "events") break;
        if (outcome.events.length === 0) return name;
        for (const { place, text } of outcome.events) {
          await send(encodeEventId(place), JSON.parse(text) as never);
          cursor = place;
        }
      }
      throw new HoldfastError("ERR_CURSOR_REFUSED", "Events after the cursor are gone.");
    },
  };
}

const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
