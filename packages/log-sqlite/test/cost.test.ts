/** What a query costs must not grow with the log: each finds its rows by an index. */
import { DatabaseSync } from "node:sqlite";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { migrate } from "../src/schema.ts";
import { statementTexts } from "../src/statements.ts";

const db = new DatabaseSync(":memory:");
migrate(db, 0);

/** The one row of `meta`. */
const ofOneRow = ["setBase", "setClean"];

test(`${verifies("R-01", "c061")}no statement reads through a table, none sorts`, () => {
  const costly = Object.entries(statementTexts).flatMap(([name, text]) =>
    db
      .prepare(`explain query plan ${text}`)
      .all()
      .map(({ detail }) => `${name}: ${detail}`)
      .filter((step) => /SCAN|TEMP B-TREE/.test(step) && !ofOneRow.includes(name)),
  );
  expect(costly).toEqual([]);
});

test(`${verifies("R-01", "c061")}a resume finds its cursor in the index of positions`, () => {
  const plan = (text: string) => db.prepare(`explain query plan ${text}`).all();
  const found = "SEARCH events USING INDEX events_of (session=? AND stream=? AND position>?)";
  expect(plan(statementTexts.events)).toMatchObject([{ detail: found }]);
});
