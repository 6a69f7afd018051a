/**
 * Opening and closing: the schema is brought up to date, the store is met, this process becomes a
 * node; and from then on, once a second, log time is told and the store looked at again.
 */
import { createAttempts, type LogSettings, leaseMsDefault, randomIncarnation } from "@holdfast/log";
import { Client, type ClientBase } from "pg";
import { createBook } from "./book.ts";
import { Connections, clientConfig } from "./connections.ts";
import type { Desk, LogTerm } from "./desk.ts";
import { unavailable } from "./faults.ts";
import { isLossy, storeWarnings } from "./identity.ts";
import { Listener } from "./listener.ts";
import type { Location } from "./location.ts";
import { type Ask, type Met, meetStore } from "./meeting.ts";
import { migrate } from "./migrate.ts";
import type { PostgresShared } from "./shared.ts";
import { startSharedTime } from "./shared-time.ts";
import { loadSql, loadStatements, type Statements } from "./sql.ts";
import type { Wakes } from "./wakes.ts";

/** Sessions that a node keeps in memory, as far as it needs them to commit. */
const sessionsMax = 10_000;

const beatMs = 1_000;
/** What another node told longer ago is not going on: that node is gone. */
const toldMsMax = 5_000;

export interface StoreOptions {
  readonly connections: number;
  readonly timeoutMs: number;
  readonly pollMs: number;
  readonly onWarning: (sentence: string) => void;
}

export interface OpenStore {
  readonly desk: Desk;
  /** A crash of the server's machine may lose what was acknowledged. */
  readonly isLossy: boolean;
  close(): Promise<void>;
}

/** @throws LogError `ERR_LOG_UNAVAILABLE`, `ERR_LOG_NEWER`, `ERR_LOG_CORRUPT` */
export async function openStore(
  location: Location,
  options: StoreOptions,
  settings: LogSettings,
  shared: PostgresShared,
  wakes: Wakes,
): Promise<OpenStore> {
  const statements = loadStatements(location.schema);
  const { timeoutMs } = options;
  const met = await firstMeeting(location, timeoutMs, statements);
  for (const sentence of storeWarnings(met.settings)) options.onWarning(sentence);
  const time = startSharedTime(settings.clock, met.logMs);
  const acquaintance = new Acquaintance(met, () => {
    desk.book.clear();
    desk.attempts.clear();
  });
  const connections = new Connections({
    ...{ location, statements, timeoutMs, connectionsMax: options.connections },
    greet: (client) => greet(client, statements, acquaintance),
    onReach: (isReached) => (isReached ? time.resume() : time.pause()),
  });
  const ask: Ask = (name, values) => connections.ask(name, ...values);
  const desk: Desk = {
    ...{ settings, connections, time },
    book: createBook(sessionsMax),
    attempts: createAttempts(),
    term: () => acquaintance.term,
    node: () => shared.node,
    randomIncarnation: settings.randomIncarnation ?? randomIncarnation,
    meet: async () => void (await acquaintance.meet(ask)),
    onOlder: async () => {
      await ask("declare-loss", [acquaintance.term.generation, randomIncarnation()]);
      await acquaintance.meet(ask);
    },
  };
  const listener = new Listener({
    config: clientConfig(location, timeoutMs),
    schema: location.schema,
    node: () => shared.node,
    tell: loadSql("tell-call", location.schema),
    onMessage: (text) => wakes.hear(text),
    onConnect: () => void wakes.poll().catch(() => {}),
  });
  const beat = async () => {
    await acquaintance.meet(ask);
    await tellTime(desk, shared.node, acquaintance);
  };
  try {
    await shared.join(desk, settings.leaseMs ?? leaseMsDefault);
    await beat();
    await listener.connect();
  } catch (error) {
    await listener.close();
    await connections.close();
    throw error;
  }
  wakes.start({ connections, listener, book: desk.book, node: () => shared.node }, options.pollMs);
  const stopBeating = repeat(beat, beatMs);
  return {
    desk,
    isLossy: isLossy(met.settings),
    close: async () => {
      connections.hurry();
      await stopBeating();
      // A store that is away learns of it when the lease is over.
      await shared.part(desk).catch(() => {});
      await tellTime(desk, "", acquaintance).catch(() => {});
      wakes.stop();
      await listener.close();
      await connections.close();
    },
  };
}

/** What this node knows of the store, from meeting to meeting. */
class Acquaintance {
  term: LogTerm;
  /** Log time that this node has told the store, and that the store has kept. */
  toldMs = 0;
  readonly #onTerm: () => void;

  /** @param onTerm - nothing that was known of the log is known any more */
  constructor(met: Met, onTerm: () => void) {
    this.term = termOf(met);
    this.#onTerm = onTerm;
  }

  async meet(ask: Ask): Promise<Met> {
    const met = await meetStore(ask, this.toldMs);
    this.toldMs = Math.min(this.toldMs, met.logMs);
    if (met.generation !== this.term.generation) {
      this.term = termOf(met);
      this.#onTerm();
    }
    return met;
  }
}

function termOf({ generation, lossGeneration, lossIncarnation }: Met): LogTerm {
  return { generation, loss: { lossGeneration, lossIncarnation } };
}

async function firstMeeting(
  location: Location,
  timeoutMs: number,
  statements: Statements,
): Promise<Met> {
  const client = new Client(clientConfig(location, timeoutMs));
  // Told by the failing query as well.
  client.on("error", () => {});
  try {
    await client.connect();
    await migrate(client, location.schema);
    return await meetStore(asking(client, statements), 0);
  } catch (error) {
    throw unavailable(location.shown, error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Every statement finds its rows by an index, whatever the values: it is planned once. */
const connectionSettings = "set plan_cache_mode = force_generic_plan; set jit = off";

async function greet(
  client: ClientBase,
  statements: Statements,
  acquaintance: Acquaintance,
): Promise<void> {
  await client.query(connectionSettings);
  const { settings } = await acquaintance.meet(asking(client, statements));
  // [C E-03] What is acknowledged is on disk, whatever the database's default is.
  if (settings.synchronous_commit === "off") await client.query("set synchronous_commit = on");
}

function asking(client: ClientBase, statements: Statements): Ask {
  return async (name, values) => {
    const { rows } = await client.query<object>({ text: statements[name], values: [...values] });
    return rows;
  };
}

async function tellTime(
  { connections, time }: Desk,
  node: string,
  acquaintance: Acquaintance,
): Promise<void> {
  const tellMs = time.nowMs();
  const [row] = await connections.ask<{ log_ms: number; now_ms: number }>(
    "beat",
    ...[tellMs, node, toldMsMax],
  );
  if (row === undefined) return;
  time.advanceTo(row.now_ms);
  acquaintance.toldMs = Math.max(acquaintance.toldMs, row.log_ms, tellMs);
}

/** @returns ends it, after the turn that is under way */
function repeat(work: () => Promise<void>, everyMs: number): () => Promise<void> {
  let isOver = false;
  let underWay = Promise.resolve();
  let timer: NodeJS.Timeout;
  const plan = () => {
    timer = setTimeout(() => {
      // What cannot be told now is told the next time.
      underWay = work()
        .catch(() => {})
        .finally(() => {
          if (!isOver) plan();
        });
    }, everyMs);
    timer.unref();
  };
  plan();
  return async () => {
    isOver = true;
    clearTimeout(timer);
    await underWay;
  };
}
