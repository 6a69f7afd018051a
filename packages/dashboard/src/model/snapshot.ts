/** A timeline out of a snapshot: what the feed still has of a session, and what it says itself. */
import type { SessionAnswer } from "./api.ts";
import { emptyTimeline, type Timeline, takeFacts, takeItem } from "./timeline.ts";

export function timelineOf({ session, history }: SessionAnswer): Timeline {
  const timeline = emptyTimeline(session.tag);
  timeline.begunAtMs = session.createdAtMs;
  if (session.client !== undefined) timeline.client = session.client;
  for (const item of history) takeItem(timeline, item);
  takeFacts(timeline, session.streams);
  return timeline;
}
