/**
 * The SQL of the log: one file a statement, read once, with the schema's name put in its place.
 *
 * In the files `holdfast.` stands for the schema, so that each of them runs in psql as it is.
 */
import { readFileSync } from "node:fs";
import { escapeIdentifier } from "pg";

/** Statements of the daily work; each file says what goes in and what comes out. */
export const statementNames = [
  "acquire-call",
  "beat",
  "census",
  "changes",
  "claims",
  "commit-call",
  "declare-loss",
  "hello",
  "join",
  "leave",
  "list",
  "name",
  "nodes",
  "note-store",
  "put-aside",
  "read",
  "release",
  "renew",
  "resting",
  "running",
  "sessions",
  "streams",
  "sweep-call",
  "take-call",
  "waiting",
] as const;

export type StatementName = (typeof statementNames)[number];

export type Statements = Readonly<Record<StatementName, string>>;

/** @param schema - as it is called in the database, not quoted */
export function loadSql(file: string, schema: string): string {
  const text = readFileSync(new URL(`../sql/${file}.sql`, import.meta.url), "utf8");
  return text
    .replaceAll("'holdfast.", `'${escapeIdentifier(schema).replaceAll("'", "''")}.`)
    .replaceAll("holdfast.", `${escapeIdentifier(schema)}.`);
}

export function loadStatements(schema: string): Statements {
  const texts = statementNames.map((name) => [name, loadSql(name, schema)] as const);
  return Object.fromEntries(texts) as Statements;
}
