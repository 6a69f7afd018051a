/**
 * The tables of a state file, as steps from each version to the next. A step that was ever
 * released is never edited: the next change is a step more.
 */
import type { DatabaseSync } from "node:sqlite";
import { ClientError } from "../client-errors.ts";

/** "HoCl", as SQLite's `application_id`: whose file this is. */
export const applicationId = 0x486f436c;

const first = `
create table meta (
  id integer primary key check (id = 1),
  next_id integer not null,          -- the first id that was never reserved
  current_session integer
) strict;
insert into meta (id, next_id) values (1, 1);

create table sessions (
  key integer primary key,
  url text not null,
  session_id text,
  version text,
  params text not null,              -- JSON, like result and setup
  result text not null,
  setup text not null,
  cursor text                        -- of the standalone stream
) strict;

create table calls (                 -- the ledger
  wire_id integer primary key,
  session integer not null,
  app_id text not null,              -- JSON
  method text not null,
  name text,
  digest text not null,
  body text not null,                -- JSON
  idempotency_key text,
  is_safe integer not null,
  is_safe_across integer not null,
  started_at_ms integer not null,    -- wall clock
  cursor text,
  is_told integer not null default 0,
  outcome text                       -- JSON; set: it ended, and was not handed on
) strict;
`;

const migrations: readonly string[] = [first];

export const schemaVersion = migrations.length;

/**
 * Whose file is this? It is only read: a file that is not ours stays as it is.
 *
 * @returns the version of the schema; 0 for a file with nothing in it, which becomes a new state
 * @throws ClientError `ERR_STATE_CORRUPT` for a file of another application, `ERR_STATE_NEWER`
 */
export function requireOurs(db: DatabaseSync, file: string): number {
  const read = (pragma: string) => Number(db.prepare(`pragma ${pragma}`).get()?.[pragma] ?? 0);
  const [owner, version] = [read("application_id"), read("user_version")];
  const tables = Number(db.prepare("select count(*) as n from sqlite_schema").get()?.n ?? 0);
  const isNew = owner === 0 && version === 0 && tables === 0;
  if (!isNew && owner !== applicationId) {
    const text = `${file} is a database of another application, not a client's state.`;
    const hint = "Give the state a file of its own.";
    throw new ClientError("ERR_STATE_CORRUPT", text, { hint, seen: owner, needed: applicationId });
  }
  if (version > schemaVersion) {
    throw new ClientError(
      "ERR_STATE_NEWER",
      `The client state ${file} has schema ${version}; this version knows up to ${schemaVersion}.`,
      { seen: version, needed: schemaVersion },
    );
  }
  return version;
}

/** Bring a file to the newest schema, all steps or none. */
export function migrate(db: DatabaseSync, version: number): void {
  if (version === schemaVersion) return;
  db.exec("begin immediate");
  for (const step of migrations.slice(version)) db.exec(step);
  db.exec(`pragma application_id = ${applicationId}`);
  db.exec(`pragma user_version = ${schemaVersion}`);
  db.exec("commit");
}
