/** Opening: what is refused, what is told, and what another node or a message may do to it. */
import type { SessionId } from "@holdfast/log";
import { notification, numbered, openScene, response } from "@holdfast/log/acceptance";
import { postgresLog } from "@holdfast/log-postgres";
import { disposeAll, postgresUrl, verifies, within } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { postgresHarness, type SchemaPlace, schemaPlace } from "./places.ts";

afterEach(disposeAll);

const database = await postgresUrl();
const url = database ?? "";

describe.skipIf(database === undefined)("opening a log in PostgreSQL", () => {
  test("a newer schema is refused, and left as it is", async () => {
    const scene = await openScene(postgresHarness(url));
    const { run, log } = scene.place as SchemaPlace;
    await scene.log.close();
    await run("update holdfast.meta set schema_version = 99");
    const refused = scene.reopen();
    await expect(refused).rejects.toMatchObject({
      ...{ name: "LogError", code: "ERR_LOG_NEWER", seen: 99 },
    });
    expect(log().location).not.toContain("@");
    expect(await run("select schema_version from holdfast.meta")).toEqual([{ schema_version: 99 }]);
  });

  test("a log that has lost its own record is refused, and not begun anew", async () => {
    const scene = await openScene(postgresHarness(url));
    const { run } = scene.place as SchemaPlace;
    await scene.log.close();
    await run("delete from holdfast.meta");
    await expect(scene.reopen()).rejects.toMatchObject({ code: "ERR_LOG_CORRUPT" });
    expect(await run("select * from holdfast.meta")).toEqual([]);
  });

  test("many nodes that open an empty schema at once make it once", async () => {
    const place = await schemaPlace(url);
    const scenes = Array.from({ length: 4 }, () =>
      openScene({ place: async () => ({ ...place, remove: async () => {} }) }),
    );
    const [first, ...others] = await Promise.all(scenes);
    await first?.create("a");
    for (const other of others) {
      expect(await other.log.session("a" as SessionId)).toMatchObject({ session: "a" });
    }
  });

  test.each(["Odd \"name'", "select"])("a schema may be called %s", async (schema) => {
    const named = new URL(url);
    named.searchParams.set("schema", schema);
    const place = await schemaPlace(url);
    const remove = async () => {
      const quoted = `"${schema.replaceAll('"', '""')}"`;
      await place.run(`set client_min_messages = warning; drop schema if exists ${quoted} cascade`);
    };
    await remove();
    const log = () => postgresLog(named.href);
    const scene = await openScene({ place: async () => ({ log, remove }) });
    const session = await scene.create("a");
    const { shared } = scene.log;
    const outcome = await scene.log.commit(session, {
      ...{ fence: 1, ops: [notification(0, "n")] },
    });
    expect(outcome).toMatchObject({ kind: "committed" });
    expect(await shared?.nodes()).toEqual([shared?.node]);
  });

  test.each(["mysql://h/d", "postgres:", "postgres://h/d?schema="])(
    "%s is no URL of a log",
    (text) => {
      expect(() => postgresLog(text)).toThrow(TypeError);
    },
  );

  test(`${verifies("E-08", "N-01")}wake-ups that come twice, late, or from nobody change nothing`, async () => {
    const scene = await openScene(postgresHarness(url));
    const place = scene.place as SchemaPlace;
    const session = await scene.create("a");
    const begin = await scene.open(session, 1);
    const heard: string[] = [];
    const told = Promise.withResolvers<void>();
    let cursor = begin;
    scene.log.follow(session, 1, async () => {
      const outcome = await scene.read(session, cursor);
      if (outcome.kind !== "events") return;
      for (const event of outcome.events) {
        if (event.place.position <= cursor.position) continue;
        heard.push(event.text);
        cursor = event.place;
      }
      if (heard.includes("end")) told.resolve();
    });
    const [channel] = await place.run(
      `select 'holdfast_' || left(encode(sha256($1::bytea), 'hex'), 16) as name`,
      [place.schema],
    );
    const hash = `left(translate(encode(sha256('a'::bytea), 'base64'), '+/', '-_'), 16)`;
    const noise = ["''", "'x'", "E'x\\nleft'", `E'x\\n' || ${hash} || ' 1 1 *'`, "'\u0001 ☃'"];
    for (let n = 1; n <= 20; n += 1) {
      const messages = noise.map((text) => `select pg_notify('${channel?.name}', ${text});`);
      await Promise.all([
        scene.note(session, 1, `n${n}`),
        place.run(messages.join("\n")),
        place.run(messages.join("\n")),
      ]);
    }
    await scene.commit(session, response(1, "end"));
    await within(told.promise, "the end of the stream");
    expect(heard).toEqual([...numbered(1, 20), "end"]);
  });

  test(`${verifies("c061")}every statement finds its rows by an index`, async () => {
    const through = new URL(url);
    // Where there is an index, it is used then; a table that is read whole has none.
    through.searchParams.set("options", "-c enable_seqscan=off");
    const harness = postgresHarness(through.href);
    const scene = await openScene(harness, { maxEvents: 5, windowMs: 1_000 });
    const place = scene.place as SchemaPlace;
    const use = { op: "touch", isUsed: true } as const;
    for (const name of ["a", "b"]) {
      const session = await scene.create(name);
      await scene.commit(session, use);
      await scene.open(session, 1);
      await scene.note(session, 1, "1", "2", "3", "4", "5", "6", "7");
      await scene.answer(session, 1, "r");
      await scene.log.running(session);
      await scene.texts(session, await scene.at(session, 1, 4));
    }
    await scene.commit("b" as SessionId, { op: "end", reason: "deleted" });
    const limits = { idleTtlMs: 1, unusedTtlMs: 1, touchLagMs: 0, sessions: 10 };
    for (const ms of [1_000, 60_000, 24 * 3_600_000]) {
      scene.clock.advance(ms);
      await scene.sweep();
      await scene.log.rested(limits);
    }
    await scene.log.liveSessions("owner of a");
    await scene.log.list(undefined, 10);
    await scene.log.close();
    const rows = await place.run(
      // Each index was made by reading its table once.
      `select relname, seq_scan::int from pg_stat_user_tables t where schemaname = $1
        and relname in ('sessions', 'streams', 'events', 'claims', 'inbox')
        and seq_scan > (select count(*) from pg_index i where i.indrelid = t.relid)`,
      [place.schema],
    );
    expect(rows).toEqual([]);
  });
});
