/**
 * An event store for the stock SDK that keeps the newest events and replays what it has, as stores
 * of bounded size commonly do: whether the cursor itself is still there is not asked.
 *
 * The SDK brings no bounded store; its sample one grows for ever.
 */
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export function ringEventStore(eventsMax: number): EventStore {
  type Stored = { n: number; streamId: string; message: Parameters<EventStore["storeEvent"]>[1] };
  const events: Stored[] = [];
  let newest = 0;
  return {
    storeEvent: async (streamId, message) => {
      newest += 1;
      events.push({ n: newest, streamId, message });
      if (events.length > eventsMax) events.shift();
      return `${streamId}/${newest}`;
    },
    replayEventsAfter: async (lastEventId, { send }) => {
      const [cursorStream = "", n = ""] = lastEventId.split("/");
      for (const event of [...events]) {
        if (event.streamId !== cursorStream || event.n <= Number(n)) continue;
        await send(`${event.streamId}/${event.n}`, event.message);
      }
      return cursorStream;
    },
  };
}
