/**
 * A served face with everything a test holds on to: its endpoint, its upstreams, its log lines.
 */
import { parseEventId } from "@holdfast/contract";
import { onDispose } from "../disposal.ts";
import type { EventStream } from "../event-stream.ts";
import { openSession, type RawSession, type SessionOptions } from "../raw-session.ts";
import { signal } from "../wait-for.ts";
import type {
  Face,
  FaceAuthenticate,
  FaceClock,
  FaceLogger,
  FaceOptions,
  LogGate,
  LogKind,
  Stop,
} from "./face.ts";
import {
  type ScriptedUpstream,
  type ScriptedUpstreams,
  scriptedUpstreams,
} from "./scripted-upstream.ts";

export interface BenchSettings {
  readonly options?: FaceOptions;
  readonly clock?: FaceClock;
  /** Default: the kind that the suite runs with. */
  readonly log?: LogKind;
  readonly logGate?: LogGate;
  readonly authenticate?: FaceAuthenticate;
}

/** What the runtime logged. */
export interface LogLine {
  readonly level: keyof FaceLogger;
  readonly facts: object;
  readonly message: string;
}

/** A session with the upstream that was started for it. */
export interface BenchSession extends RawSession {
  readonly upstream: ScriptedUpstream;
  /** First part of the session's event ids. */
  readonly tag: string;
}

export interface Bench {
  readonly url: string;
  /** Host and port of the endpoint, for a proxy in front of it. */
  readonly target: { readonly host: string; readonly port: number };
  readonly upstreams: ScriptedUpstreams;
  readonly logLines: readonly LogLine[];
  /** The first line that `matches`, past ones included. */
  logged(matches: (line: LogLine) => boolean): Promise<LogLine>;
  /** Open a session, and take its upstream. */
  session(options?: SessionOptions & { readonly url?: string }): Promise<BenchSession>;
  /** Events evicted inside their window so far [C W-04]. */
  breachCount(): number;
  /** Sessions that the runtime holds in memory. */
  sessionCount(): number;
  /** Refuse new work until what runs is over. @returns the calls that still ran at the deadline */
  drain(timeoutMs: number): Promise<number>;
  /** Stop the runtime, and serve another on the same log; URL and upstreams stay. */
  restart(stop: Stop, changes?: Omit<BenchSettings, "log">): Promise<void>;
  close(): Promise<void>;
}

/** Opens benches for the tests of one chapter; each is closed by `disposeAll`. */
export type OpenBench = (settings?: BenchSettings) => Promise<Bench>;

/** @param log - the kind of log where a test does not ask for one */
export function benches(face: Face, log: LogKind): OpenBench {
  return async (settings = {}) => {
    const upstreams = scriptedUpstreams();
    const logLines: LogLine[] = [];
    const nextLine = signal<LogLine>("log line");
    const served = await face.serve({
      options: settings.options ?? {},
      upstream: upstreams.factory,
      logger: recordingLogger((line) => {
        logLines.push(line);
        nextLine.emit(line);
      }),
      log: settings.log ?? log,
      ...(settings.clock !== undefined && { clock: settings.clock }),
      ...(settings.logGate !== undefined && { logGate: settings.logGate }),
      ...(settings.authenticate !== undefined && { authenticate: settings.authenticate }),
    });
    const forget = onDispose(served.close);
    const { hostname: host, port } = new URL(served.url);
    return {
      ...{ url: served.url, target: { host, port: Number(port) }, upstreams, logLines },
      session: async ({ url = served.url, ...options } = {}) => {
        const session = await openSession(url, options);
        const tag = tagOf(session.initializeStream);
        return { ...session, tag, upstream: await upstreams.of(tag) };
      },
      logged: async (matches) => logLines.find(matches) ?? nextLine.next(matches),
      breachCount: served.breachCount,
      sessionCount: served.sessionCount,
      drain: served.drain,
      restart: async (stop, changes = {}) => {
        // The children of a process that crashed are nobody's: what they say is not heard.
        if (stop === "crash") upstreams.cutOff();
        await served.restart(stop, changes);
      },
      close: async () => {
        forget();
        await served.close();
      },
    };
  };
}

/** The session's tag, out of the newest event id of a stream. */
export function tagOf(stream: EventStream): string {
  const place = parseEventId(stream.lastEventId ?? "");
  if (place === undefined) throw new Error(`no event id: ${stream.lastEventId}`);
  return place.tag;
}

function recordingLogger(keep: (line: LogLine) => void): FaceLogger {
  const record = (level: keyof FaceLogger) => (facts: object, message: string) =>
    keep({ level, facts, message });
  return {
    debug: record("debug"),
    info: record("info"),
    warn: record("warn"),
    error: record("error"),
  };
}
