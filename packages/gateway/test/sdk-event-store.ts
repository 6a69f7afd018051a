/** An event store as of the SDKs' examples, whose order is the order of events. */
import type { JSONRPCMessage } from "@modelcontextprotocol/server";

export function sdkEventStore() {
  const events: { id: string; streamId: string; message: JSONRPCMessage }[] = [];
  return {
    storeEvent: async (streamId: string, message: JSONRPCMessage) => {
      const id = `${streamId}_${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    replayEventsAfter: async (
      lastEventId: string,
      { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
    ) => {
      const at = events.findIndex(({ id }) => id === lastEventId);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) {
        if (event.streamId === streamId) await send(event.id, event.message);
      }
      return streamId;
    },
  };
}
