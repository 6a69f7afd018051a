/**
 * Sessions as their operator looks at them: a list, one of them with its streams, its end.
 *
 * Says nothing of a session's id but its tag [C P-03]; takes either. Not on the way of any call.
 */
import { incarnationAt, type LoggedEvent, type SessionId, type SessionState } from "@holdfast/log";
import { bounds } from "./options.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import type { Session } from "./session.ts";
import { readSessionData } from "./session-data.ts";
import type { Sessions } from "./sessions.ts";

/**
 * `active`: a call runs; `attached`: a viewport shows it; `idle`: in memory, nobody is there;
 * `resting`: in the log alone.
 */
export type SessionActivity = "active" | "attached" | "idle" | "resting" | "ended";

export interface SessionSummary {
  readonly tag: string;
  /** Who opened it; empty without authentication. */
  readonly principal: string;
  /** What the client calls itself. */
  readonly client?: string;
  /** Negotiated protocol version. */
  readonly version?: string;
  /** Wall clock, milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly activity: SessionActivity;
  readonly calls: number;
  readonly viewports: number;
}

export interface CallSummary {
  /** The client's own request id, JSON text. */
  readonly id: string;
  readonly method: string;
  readonly name?: string;
  readonly startedAtMs: number;
  readonly state: "running" | "answered" | "cancelled";
}

export interface StreamSummary {
  readonly stream: number;
  readonly calls: readonly CallSummary[];
  readonly head: number;
  /** Positions up to here are gone. */
  readonly evictedThrough: number;
  readonly isFinished: boolean;
  readonly isAttached: boolean;
}

export interface SessionDetail extends SessionSummary {
  /** Newest first, at most {@link streamsShownMax}; the standalone stream is always there. */
  readonly streams: readonly StreamSummary[];
}

export interface SessionList {
  readonly sessions: readonly SessionSummary[];
  /** There are more than can be listed. */
  readonly isCut: boolean;
}

export interface SessionInspection {
  /** @throws what the log throws, as all of these */
  list(): Promise<SessionList>;
  /** @param name - tag or id */
  show(name: string): Promise<SessionDetail | undefined>;
  /** Retained events of a stream after a position, oldest first; a bounded number. */
  events(name: string, stream: number, after: number): Promise<readonly LoggedEvent[] | undefined>;
  /** [C D-01] @returns false: it is not there, or over already */
  end(name: string): Promise<boolean>;
}

export const streamsShownMax = 200;
/** Sessions of one list, and of one page that is asked of the log. */
const sessionsListedMax = 20_000;
const pageSessions = 200;

export function inspection(context: RuntimeContext, sessions: Sessions): SessionInspection {
  const { log } = context;
  const stateOf = (name: string) => findState(context, sessions, name);
  return {
    list: async () => {
      const live = new Map(sessions.all().map((session) => [session.id, session]));
      const summaries: SessionSummary[] = [];
      for await (const page of pages(context)) {
        for (const state of page) summaries.push(summaryOf(state, live.get(state.session)));
        if (summaries.length >= sessionsListedMax) return { sessions: summaries, isCut: true };
      }
      return { sessions: summaries, isCut: false };
    },
    show: async (name) => {
      const state = await stateOf(name);
      if (state === undefined) return undefined;
      const session = sessions.peek(state.session);
      return { ...summaryOf(state, session), streams: await streamsOf(context, state, session) };
    },
    events: async (name, stream, after) => {
      const state = await stateOf(name);
      const found = state && (await log.stream(state.session, stream));
      if (state === undefined || found === undefined) return undefined;
      const position = Math.min(Math.max(after, found.evictedThrough), found.head);
      const incarnation = incarnationAt(found.runs, position) ?? "";
      const cursor = { tag: state.tag, stream, position, incarnation };
      const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
      const outcome = await log.read(state.session, cursor, limit);
      return outcome.kind === "events" ? outcome.events : [];
    },
    end: async (name) => {
      const state = await stateOf(name);
      if (state === undefined || state.ended !== undefined) return false;
      const found = await sessions.reach(state);
      if (found.kind !== "live") return false;
      const isEnded = (await found.session.end("ended")).kind === "ended";
      if (isEnded) context.logger.info({ session: state.tag }, "session ended by its operator");
      return isEnded;
    },
  };
}

async function* pages({ log }: RuntimeContext): AsyncGenerator<readonly SessionState[]> {
  let after: SessionId | undefined;
  for (;;) {
    const page = await log.list(after, pageSessions);
    yield page;
    if (page.length < pageSessions) return;
    after = page.at(-1)?.session;
    // Commits go first: a list of many sessions is in no hurry.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function findState(
  context: RuntimeContext,
  sessions: Sessions,
  name: string,
): Promise<SessionState | undefined> {
  const inMemory = sessions.all().find(({ tag }) => tag === name);
  const known = await context.log.session(inMemory?.id ?? (name as SessionId));
  if (known !== undefined) return known;
  for await (const page of pages(context)) {
    const found = page.find(({ tag }) => tag === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function summaryOf(state: SessionState, session: Session | undefined): SessionSummary {
  const { tag, principal, createdAtMs } = state;
  // Of a tombstone, nothing else is left.
  const data = state.data === "" ? undefined : readSessionData(state.data);
  const version = session?.version ?? data?.version;
  const calls = session?.calls.inFlight.size ?? 0;
  const viewports = session?.viewports.size ?? 0;
  const activity = activityOf(state, session, calls, viewports);
  return {
    ...{ tag, principal, createdAtMs, activity, calls, viewports },
    ...(data?.clientName === undefined ? {} : { client: data.clientName }),
    ...(version === undefined ? {} : { version }),
  };
}

function activityOf(
  state: SessionState,
  session: Session | undefined,
  calls: number,
  viewports: number,
): SessionActivity {
  if (state.ended !== undefined) return "ended";
  if (session === undefined) return "resting";
  if (calls > 0) return "active";
  return viewports > 0 ? "attached" : "idle";
}

async function streamsOf(
  { log }: RuntimeContext,
  state: SessionState,
  session: Session | undefined,
): Promise<readonly StreamSummary[]> {
  const first = Math.max(state.nextStream - streamsShownMax + 1, 1);
  const numbers = [0];
  for (let stream = first; stream < state.nextStream; stream++) numbers.push(stream);
  const streams: StreamSummary[] = [];
  for (const stream of numbers.reverse()) {
    const found = await log.stream(state.session, stream);
    if (found === undefined) continue;
    const { head, evictedThrough, isFinished } = found;
    const calls = found.calls.map(({ id, method, name, startedAtMs, state }) => ({
      ...{ id, method, startedAtMs, state },
      ...(name === undefined ? {} : { name }),
    }));
    const isAttached = session?.viewports.isShown(stream) ?? false;
    streams.push({ stream, calls, head, evictedThrough, isFinished, isAttached });
  }
  return streams;
}
