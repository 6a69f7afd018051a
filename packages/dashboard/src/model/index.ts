export { type AdminClient, AdminError, adminClient } from "./admin-client.ts";
export type {
  EventsAnswer,
  OverviewAnswer,
  SessionActivity,
  SessionAnswer,
  SessionRow,
  SessionsAnswer,
} from "./api.ts";
export {
  type CallOutcome,
  type DetachCause,
  decodeBatch,
  type EndReason,
  type EventKind,
  encodeBatch,
  type FeedItem,
  type NamedCall,
  type ProcessItem,
  type SessionItem,
} from "./feed.ts";
export { type FollowEnd, type FollowSettings, followFeed } from "./follow.ts";
export { lostPhrase, oneLine, outcomePhrase, phraseOf } from "./phrases.ts";
export { timelineOf } from "./snapshot.ts";
export {
  type Bar,
  emptyTimeline,
  isCut,
  type Lane,
  type StreamFacts,
  type Tick,
  type Timeline,
  type TimelineCall,
  type TimelineGap,
  takeFacts,
  takeItem,
  untold,
} from "./timeline.ts";
