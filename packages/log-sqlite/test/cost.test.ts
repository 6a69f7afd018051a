/** What a query costs must not grow with the log: each finds its rows by an index. */
import { DatabaseSync } from "node:sqlite";
import { createAttempts, createFollowers, type Op, type SessionId } from "@holdfast/log";
import { creation, opening as openingOf, response, roomy } from "@holdfast/log/acceptance";
import { disposeAll, fakeClock, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { runBatch } from "../src/batch.ts";
import { openDesk } from "../src/desk.ts";
import { closeFile, openFile, openingTexts } from "../src/file.ts";
import { migrate } from "../src/schema.ts";
import { statementTexts } from "../src/statements.ts";
import { filePlace } from "./places.ts";

afterEach(disposeAll);

const settings = { retention: roomy, idempotencyTtlMs: 1_000, clock: fakeClock() };

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

test(`${verifies("S-07")}an opening reads through one index, and no table`, () => {
  const steps = Object.values(openingTexts).flatMap((text) =>
    db
      .prepare(`explain query plan ${text}`)
      .all()
      .map(({ detail }) => String(detail)),
  );
  // Of the events, the newest alone.
  expect(steps.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([
    "SCAN events",
    "SCAN sessions USING COVERING INDEX sessions_live",
  ]);
  for (const index of ["sessions_resting", "claims_settled"]) {
    expect(steps).toContainEqual(expect.stringMatching(`SEARCH .* INDEX ${index}`));
  }
});

test(`${verifies("E-03")}a plain call writes two rows and changes none`, async () => {
  const place = await filePlace();
  const opening = { bootId: "", durability: "process", incarnation: "aaaaaaaa" } as const;
  const file = openFile(place.file, opening, 0);
  const desk = openDesk(file, settings, "aaaaaaaa", { sessions: 10, streams: 10 }, lasting());
  const changed = () => Number(file.db.prepare("select total_changes() as n").get()?.n);
  const session = "a" as SessionId;
  const commit = (...ops: Op[]) => runBatch(desk, [{ session, commit: { fence: 0, ops } }]);
  commit(creation("a"));
  const before = changed();
  const calls = 1_000;
  for (let stream = 1; stream <= calls; stream += 1) {
    commit(openingOf(stream));
    commit(response(stream, "r"));
  }
  // And its session's row once in 256 calls.
  expect(changed() - before).toBe(2 * calls + Math.floor(calls / 256));
  closeFile(file);
});

function lasting() {
  return { followers: createFollowers(), attempts: createAttempts() };
}
