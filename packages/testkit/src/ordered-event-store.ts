/**
 * An event store for the transports of both SDKs, as of their examples, but its order is the order of
 * events: what a careful author of a server has today.
 */
export interface OrderedEventStore<Message> {
  storeEvent(streamId: string, message: Message): Promise<string>;
  replayEventsAfter(
    lastEventId: string,
    replay: { readonly send: (eventId: string, message: Message) => Promise<void> },
  ): Promise<string>;
}

export function orderedEventStore<Message>(): OrderedEventStore<Message> {
  const events: { readonly id: string; readonly streamId: string; readonly message: Message }[] =
    [];
  return {
    storeEvent: async (streamId, message) => {
      const id = `${streamId}_${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    replayEventsAfter: async (lastEventId, { send }) => {
      const at = events.findIndex(({ id }) => id === lastEventId);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) {
        if (event.streamId === streamId) await send(event.id, event.message);
      }
      return streamId;
    },
  };
}
