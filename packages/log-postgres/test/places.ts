/** Schemas of logs for tests, and what can befall them. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { LogHarness, LogPlace, SharedHarness } from "@holdfast/log/acceptance";
import { type PostgresLogOptions, postgresLog } from "@holdfast/log-postgres";
import { onDispose, type SpawnedProcess, spawnProcess } from "@holdfast/testkit";
import { Client } from "pg";

export interface SchemaPlace extends LogPlace {
  /** Of a log in this schema. */
  readonly url: string;
  readonly schema: string;
  /** Run statements beside the log; `holdfast.` stands for the schema. @returns the last's rows */
  run(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** A schema of its own in a database; it goes with the test, or with a server that does. */
export async function schemaPlace(
  database: string,
  options: PostgresLogOptions = {},
  isServerKept = true,
): Promise<SchemaPlace> {
  const schema = `holdfast_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(database);
  url.searchParams.set("schema", schema);
  const run: SchemaPlace["run"] = async (sql, values) => {
    const client = new Client(database);
    await client.connect();
    try {
      const text = sql.replaceAll("holdfast.", `${schema}.`);
      return (await client.query(text, values && [...values])).rows;
    } finally {
      await client.end();
    }
  };
  const remove = async () => {
    await run(`set client_min_messages = warning; drop schema if exists ${schema} cascade`);
  };
  if (isServerKept) onDispose(remove);
  return { url: url.href, schema, run, remove, log: () => postgresLog(url.href, options) };
}

const tables = ["meta", "nodes", "sessions", "streams", "events", "inbox", "claims", "census"];

/** Keep a copy of the rows. @returns puts it back into the same tables */
async function copyRows({ run }: SchemaPlace): Promise<() => Promise<void>> {
  await run(
    tables
      .map((table) => `create table holdfast.${table}_copy as table holdfast.${table};`)
      .join("\n"),
  );
  return async () => {
    const back = tables.map((table) => {
      const overriding = table === "sessions" ? "overriding system value" : "";
      return `truncate holdfast.${table};
        insert into holdfast.${table} ${overriding} select * from holdfast.${table}_copy;
        drop table holdfast.${table}_copy;`;
    });
    await run(back.join("\n"));
  };
}

/** Run the writer of the crash chapter; when it was killed, what it had begun has come to its end. */
async function spawnWriter(place: SchemaPlace): Promise<SpawnedProcess> {
  const file = join(import.meta.dirname, "crash-writer.ts");
  const writer = await spawnProcess("node", [file, place.url], { readyPattern: /^ready$/m });
  return {
    ...writer,
    get stdout() {
      return writer.stdout;
    },
    kill: async (name) => {
      const exit = await writer.kill(name);
      // A lock on what every commit reads comes after those that are under way.
      await place.run("begin; lock table holdfast.sessions in access exclusive mode; commit");
      return exit;
    },
  };
}

const shared: SharedHarness<SchemaPlace> = {
  leaseMs: 10_000,
  // The store's time cannot be moved; what is measured by it can.
  pass: async ({ run }, ms, clock) => {
    clock.advance(ms);
    await run("update holdfast.nodes set lease_end = lease_end - $1 * interval '1 ms'", [ms]);
  },
  mute: async ({ run }) => {
    const tell = (body: string) => `create or replace function holdfast.tell(channel text,
      message text) returns void language sql as $$ ${body} $$`;
    await run(tell("select"));
    return async () => void (await run(tell("select pg_notify(channel, message)")));
  },
};

export function postgresHarness(
  database: string,
  options: PostgresLogOptions = {},
): LogHarness<SchemaPlace> {
  const resumeRuns = process.env.HOLDFAST_LONG === "1" ? 1_000 : 100;
  return {
    ...{ resumeRuns, shared, spawnWriter },
    place: () => schemaPlace(database, options),
    copy: copyRows,
  };
}
