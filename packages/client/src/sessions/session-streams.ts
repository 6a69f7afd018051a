/** The streams of a connection by their sessions: who is whose, who waits, who is told. */
import type { Connection, Stream } from "../connection.ts";
import type { PostStream } from "../streams/post-stream.ts";
import type { StreamEvent } from "../streams/stream-machine.ts";
import type { Session } from "./session.ts";

/** @returns a copy: what is done with them may end some */
export function streamsOf({ streams }: Connection, session: Session): Stream[] {
  return [...streams].filter((stream) => stream.session === session);
}

/** POSTs that wait for a session. */
export function queueOf({ streams }: Connection): PostStream[] {
  return [...streams].filter((stream) => stream.lane === "call").filter(isQueued);
}

/** It waits for a session, or for its time while its own session is over. */
export function isQueued({ runner, session }: PostStream): boolean {
  const { at, next } = runner.state;
  const isWaiting = at === "held" || (at === "waiting" && session.standing === "over");
  return isWaiting && next === "post";
}

export function tellStreams(streams: readonly Stream[], event: StreamEvent): void {
  for (const { runner } of streams) runner.dispatch(event);
}

/** Calls of an earlier process: from their cursor, or as a POST that died [C K-10]. */
export function resumeCalls(connection: Connection, session: Session): void {
  for (const { runner } of streamsOf(connection, session)) {
    if (runner.state.at !== "idle") continue;
    if (runner.state.cursor !== null) runner.dispatch({ type: "start", attempt: "get" });
    else runner.dispatch({ type: "closed", close: { kind: "reset" }, moment: runner.moment() });
  }
}
