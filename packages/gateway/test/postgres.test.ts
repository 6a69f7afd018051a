/** Two gateways on one PostgreSQL: either serves any request of any session. */
import { randomBytes } from "node:crypto";
import { disposeAll, onDispose, postgresUrl, verifies, within } from "@holdfast/testkit";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { holdfast } from "./gateway-process.ts";
import { playTwoGateways } from "./two-gateways.ts";

afterEach(disposeAll);

const database = await postgresUrl();

/** A log in a schema of its own; it goes with the test. */
function freshLog(url: string): string {
  const schema = `holdfast_test_${randomBytes(6).toString("hex")}`;
  onDispose(async () => {
    const client = new Client(url);
    await client.connect();
    await client.query(`set client_min_messages = warning; drop schema ${schema} cascade`);
    await client.end();
  });
  const log = new URL(url);
  log.searchParams.set("schema", schema);
  return log.href;
}

describe.skipIf(database === undefined)("--log postgres://", () => {
  test(`${verifies("N-01", "D-02", "S-07", "R-01")}a call on one node arrives on the other, which goes on when the first is stopped`, async () => {
    await playTwoGateways(freshLog(database ?? ""));
  });

  test("a database that is not there is told in a line or two, without a password", async () => {
    const log = new URL(database ?? "");
    log.username = "me";
    log.password = "secret";
    log.port = "1";
    const process = await holdfast(["serve", "--port", "0", "--log", log.href, "--", "true"]);
    expect(await within(process.exited, "the exit")).toEqual({ code: 1, signal: null });
    expect(process.stderr).toMatch(/event log postgres:\/\/\S+ cannot be used now: .*\n.+\n$/);
    expect(process.stderr + process.stdout).not.toContain("secret");
  });
});
