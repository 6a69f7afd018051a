/**
 * What the official SDK's examples use for resumability, in our words: a map from event id to
 * message that grows. Its types are those that both versions of the SDK have in common.
 */

interface Stored<Message> {
  readonly streamId: string;
  readonly message: Message;
}

interface Replay<Message> {
  readonly send: (eventId: string, message: Message) => Promise<void>;
}

export interface MemoryEventStore<Message> {
  storeEvent(streamId: string, message: Message): Promise<string>;
  replayEventsAfter(lastEventId: string, replay: Replay<Message>): Promise<string>;
}

export function memoryEventStore<Message>(): MemoryEventStore<Message> {
  const events = new Map<string, Stored<Message>>();
  return {
    storeEvent: async (streamId, message) => {
      const random = Math.random().toString(36).slice(2, 10);
      const eventId = `${streamId}_${Date.now()}_${random}`;
      events.set(eventId, { streamId, message });
      return eventId;
    },
    replayEventsAfter: async (lastEventId, { send }) => {
      const last = events.get(lastEventId);
      if (last === undefined) return "";
      const ids = [...events.keys()].sort();
      for (const id of ids.slice(ids.indexOf(lastEventId) + 1)) {
        const stored = events.get(id);
        if (stored?.streamId === last.streamId) await send(id, stored.message);
      }
      return last.streamId;
    },
  };
}
