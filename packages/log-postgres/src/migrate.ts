/**
 * Bringing a database to the newest schema: all steps or none, by one node at a time.
 *
 * A step that was ever released is never edited. Functions are no steps: they are put in place again
 * whenever the schema's version changes, and a version never takes away what the one before it calls,
 * so that nodes of both can run side by side while a deploy goes round.
 */
import { LogError } from "@holdfast/contract";
import { type ClientBase, escapeIdentifier } from "pg";
import { loadSql } from "./sql.ts";

/** Each brings the schema from its index to the next version. */
const steps = ["tables"] as const;

const functions = [
  "acquire",
  "enforce-caps",
  "evict-prefix",
  "purge-session",
  "write-claims",
  "commit",
  "sweep",
  "take",
  "tell",
] as const;

export const schemaVersion = steps.length;

/** Advisory lock under which nodes migrate: "Holdfast" in hexadecimal digits, cut to fit. */
const lockKey = "0x486f6c6466617374";

/**
 * @param client - connected, in no transaction
 * @param schema - made if it is not there
 * @throws LogError `ERR_LOG_NEWER`
 */
export async function migrate(client: ClientBase, schema: string): Promise<void> {
  // Looked at first without a lock: most openings find nothing to do, and need no right to change it.
  if ((await versionOf(client, schema)) === schemaVersion) return;
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock($1)", [BigInt(lockKey).toString()]);
    const version = await versionOf(client, schema);
    if (version < schemaVersion) {
      await client.query(`create schema if not exists ${escapeIdentifier(schema)}`);
      for (const file of [...steps.slice(version), ...functions]) {
        await client.query(loadSql(file, schema));
      }
      const meta = `${escapeIdentifier(schema)}.meta`;
      await client.query(`update ${meta} set schema_version = $1`, [schemaVersion]);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

/** @returns 0 where nothing of ours is yet */
async function versionOf(client: ClientBase, schema: string): Promise<number> {
  const meta = `${escapeIdentifier(schema)}.meta`;
  // By the catalog's rows: names that were not found before may still be taken for absent.
  const found = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'meta'`,
    [schema],
  );
  if (found.rowCount === 0) return 0;
  const { rows } = await client.query(`select schema_version from ${meta}`);
  const version: unknown = rows[0]?.schema_version;
  if (typeof version !== "number") {
    throw new LogError("ERR_LOG_CORRUPT", `The event log in schema "${schema}" has no version.`, {
      hint: "Put a backup back, or give the log a schema of its own.",
    });
  }
  if (version > schemaVersion) {
    throw new LogError(
      "ERR_LOG_NEWER",
      `The event log in schema "${schema}" has version ${version}; this version knows up to ${schemaVersion}.`,
      { seen: version, needed: schemaVersion },
    );
  }
  return version;
}
