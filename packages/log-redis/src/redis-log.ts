/**
 * The event log in Redis, for many nodes: wiring alone. The server's state is the truth of
 * everything; this process keeps nothing of a session but who follows it and what is on its way.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type EventPlace, LogError } from "@holdfast/contract";
import {
  type Claim,
  type Commit,
  type CommitOutcome,
  type Durability,
  type EventLog,
  type Eviction,
  type LogSettings,
  leaseMsDefault,
  type ReadLimit,
  type ReadOutcome,
  type RestLimits,
  randomIncarnation,
  type SessionId,
  type SessionState,
  type StreamState,
  type SweepOutcome,
} from "@holdfast/log";
import { Attendance } from "./attendance.ts";
import { Connection } from "./connection.ts";
import type { Desk } from "./desk.ts";
import { unavailable } from "./faults.ts";
import { type StoreKeys, storeKeys } from "./keys.ts";
import { Lanes } from "./lanes.ts";
import { keyName, readClaim } from "./ledger.ts";
import { listSessions, readAfter, readRunning, readSession, readStreamState } from "./reading.ts";
import { restedSessions } from "./resting.ts";
import { askServer, durabilityOf, refusalOf, warningsOf } from "./server-info.ts";
import { RedisShared } from "./shared.ts";
import { sweepStep } from "./sweeping.ts";
import { Wakes } from "./wakes.ts";

export interface RedisLogOptions {
  /** Begins every key; logs under different ones share nothing. Over the URL's, or `holdfast`. */
  readonly prefix?: string;
  /** Longest wait for one answer of the server, milliseconds; by default 5,000. */
  readonly timeoutMs?: number;
  /** Refuse a server that may drop data, instead of warning of it. */
  readonly isStrict?: boolean;
  /** Told, in plain sentences, of what may lose data, and of a possible loss that was found. */
  readonly onWarning?: (warning: string) => void;
  /**
   * By whose clock log time passes: the server's, which all nodes share, or this process's own, where
   * it is the only one and its clock is moved by hand. By default `store`.
   */
  readonly timeBy?: "store" | "own";
  /** How often it is asked what a lost message would have told, milliseconds; by default 1,000. */
  readonly pollMs?: number;
}

/** How often a node shows that it is there. */
const beatMs = 1_000;
/** How long a question waits for a connection that is being made again. */
const waitMs = 1_000;

interface Opened {
  readonly connection: Connection;
  readonly desk: Desk;
  readonly lanes: Lanes;
  readonly beat: NodeJS.Timeout;
}

/**
 * An event log in a Redis server (7.0 or newer), shared by all that are given the same URL and
 * prefix.
 *
 * @param url - `redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]`
 */
export function redisLog(url: string, options: RedisLogOptions = {}): EventLog {
  if (!/^rediss?:\/\//.test(url)) throw new TypeError(`"${url}" is no URL of a Redis server.`);
  return new RedisLog(url, options);
}

class RedisLog implements EventLog {
  readonly location: string;
  readonly shared: RedisShared;
  readonly #url: string;
  readonly #options: RedisLogOptions;
  readonly #keys: StoreKeys;
  readonly #wakes: Wakes;
  #durability: Durability = "process";
  /** Set while the log is open. */
  #opened: Opened | undefined;

  constructor(url: string, options: RedisLogOptions) {
    const address = new URL(url);
    const named = address.searchParams.get("prefix") ?? "holdfast";
    address.search = "";
    const { prefix = named, timeoutMs = 5_000, pollMs = 1_000 } = options;
    if (!/^[\w.:-]{1,64}$/.test(prefix)) throw new TypeError(`"${prefix}" is no prefix of keys.`);
    this.location = withoutSecrets(url);
    this.#url = address.href;
    this.#options = options;
    this.#keys = storeKeys(prefix);
    this.#wakes = new Wakes({ url: address.href, prefix, timeoutMs, pollMs });
    const fresh = () => (this.#open().desk.settings.randomIncarnation ?? randomIncarnation)();
    this.shared = new RedisShared({ desk: () => this.#open().desk, fresh, wakes: this.#wakes });
  }

  /** As the server was configured when it was last connected to. */
  get durability(): Durability {
    return this.#durability;
  }

  async open(settings: LogSettings): Promise<void> {
    assert(this.#opened === undefined, "open: the log is open");
    const attendance = this.#attendance(settings);
    const connection = this.#connection(attendance);
    const writer = randomBytes(9).toString("base64url");
    await connection.open();
    const desk: Desk = {
      ...{ line: connection, keys: this.#keys, settings, attendance, location: this.location },
    };
    try {
      await this.shared.join(desk, settings.leaseMs ?? leaseMsDefault);
      await this.#wakes.open(desk, this.shared.node, writer);
    } catch (error) {
      this.#wakes.close();
      await connection.close();
      throw error;
    }
    const lanes = new Lanes(desk, writer, () => this.shared.node, {
      onNews: (news) => this.#wakes.committed(news),
      onEvicted: (evictions) => this.#tell(settings, evictions),
    });
    // A beat that is missed is made good by the next, or by the next connection.
    const beat = setInterval(() => void attendance.beat(connection).catch(() => {}), beatMs);
    beat.unref();
    this.#opened = { connection, desk, lanes, beat };
  }

  async commit(id: SessionId, commit: Commit): Promise<CommitOutcome> {
    const outcome = await this.#open().lanes.commit(id, commit);
    if (outcome.kind !== "committed") return outcome;
    if (commit.ops[0]?.op === "create") this.#wakes.owns(id, true);
    if (commit.ops.some(({ op }) => op === "end")) this.#wakes.owns(id, false);
    return outcome;
  }

  async read(id: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome> {
    return readAfter(this.#open().desk, id, cursor, limit);
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    return readSession(this.#open().desk, id);
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    return readStreamState(this.#open().desk, id, stream);
  }

  async running(id: SessionId): Promise<readonly StreamState[]> {
    return readRunning(this.#open().desk, id);
  }

  async claim(scope: string, key: string): Promise<Claim | undefined> {
    return readClaim(this.#open().desk, keyName({ scope, key }));
  }

  async rested(limits: RestLimits): Promise<readonly SessionId[]> {
    return restedSessions(this.#open().desk, limits);
  }

  async list(after: SessionId | undefined, limit: number): Promise<readonly SessionState[]> {
    return listSessions(this.#open().desk, after, limit);
  }

  async liveSessions(principal?: string): Promise<number> {
    const { line, keys } = this.#open().desk;
    const [, , , , live] = keys.index;
    return principal === undefined
      ? Number(await line.command("ZCARD", live))
      : Number(await line.command("SCARD", keys.liveOf(principal)));
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    return this.#wakes.follow(id, stream, wake);
  }

  async sweep(): Promise<SweepOutcome> {
    const { desk } = this.#open();
    return sweepStep(desk, (evictions) => this.#tell(desk.settings, evictions));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    const { connection, desk, lanes, beat } = opened;
    const leaving = this.shared.leave();
    this.#opened = undefined;
    clearInterval(beat);
    await lanes.idle();
    // A store that is out of reach is left all the same: the lease ends by itself.
    await Promise.allSettled([leaving, desk.attendance.leave(connection)]);
    this.#wakes.close();
    await connection.close();
  }

  #attendance({ clock, randomIncarnation: given }: LogSettings): Attendance {
    const { timeBy = "store", onWarning } = this.#options;
    return new Attendance({
      ...{ keys: this.#keys, clock, timeBy, node: () => this.shared.node },
      randomIncarnation: given ?? randomIncarnation,
      onLoss: () => {
        onWarning?.(
          "Redis was started anew, or came back without all of its data: acknowledged events may " +
            "be lost, and every cursor from before is refused.",
        );
      },
    });
  }

  #connection(attendance: Attendance): Connection {
    const { timeoutMs = 5_000, isStrict = false, onWarning } = this.#options;
    let warned = "";
    return new Connection({
      ...{ url: this.#url, location: this.location, timeoutMs, waitMs },
      greet: async (line) => {
        const server = await askServer(line);
        const refusal = refusalOf(server);
        if (refusal !== undefined) throw unavailable(this.location, refusal);
        const warnings = warningsOf(server);
        const [first] = warnings;
        if (isStrict && first !== undefined) throw unavailable(this.location, first);
        // Again only when something about it is new.
        if (warnings.join() !== warned) for (const one of warnings) onWarning?.(one);
        warned = warnings.join();
        this.#durability = durabilityOf(server);
        await attendance.greet(line, server);
      },
    });
  }

  #tell({ onEvicted }: LogSettings, evictions: readonly Eviction[]): void {
    for (const eviction of evictions) onEvicted?.(eviction);
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    return this.#opened;
  }
}

function withoutSecrets(url: string): string {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  return shown.href;
}
