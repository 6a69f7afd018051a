export {
  compareEventIds,
  type EventId,
  type EventPlace,
  encodeEventId,
  eventIdCharsMax,
  parseEventId,
  standaloneStream,
} from "./event-id.ts";
export type { Retention } from "./retention.ts";
