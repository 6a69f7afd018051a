/** What a session is made of, what it may find left behind, and what it tells its registry. */
import type { SessionId, StreamState } from "@holdfast/log";
import type { Session } from "./session.ts";
import type { SessionData } from "./session-data.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import type { Viewports } from "./viewports.ts";

export interface SessionBirth {
  readonly id: SessionId;
  readonly tag: string;
  readonly principal: string;
  readonly data: SessionData;
  /** Number of the next stream that it may open. */
  readonly nextStream: number;
  /** Of the request that brought it here, those that are passed on. */
  readonly headers: ForwardedHeaders;
  /** Where other nodes serve it too: under which it is owned here [C N-02]. */
  readonly fence?: number;
  /** Viewports that show it already; without it, it begins with none. */
  readonly viewports?: Viewports | undefined;
}

/** What an earlier owner left behind, where that is known already. */
export interface Unfinished {
  /** Streams with a running call. */
  readonly running?: readonly StreamState[];
  /** Those of them whose calls were begun by nobody, and will be here. */
  readonly waiting?: ReadonlySet<number>;
  /** Why nobody runs the others any more. */
  readonly reason?: "process-restarted" | "owner-lost";
}

/** What the registry wants to know of a session. */
export interface SessionEvents {
  onEnded(session: Session): void;
  /** A call is over. */
  onCallOver(): void;
  /** Another node owns it [C N-02]. */
  onFenced(session: Session): void;
}
