import type { CallOutcome, RecoveredCall } from "@holdfast/client";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { recoveredNotice } from "./notices.ts";
import { unclaimedReporter } from "./unclaimed.ts";

const done: CallOutcome = { kind: "result", result: { content: [] } };

/** Calls of an earlier process; `claim` and `end` do what a transport does. */
function earlier(...ids: readonly number[]) {
  const entries = new Map(
    ids.map((id) => [id, { isFree: true, ended: Promise.withResolvers<CallOutcome>() }]),
  );
  const show = (id: number): RecoveredCall => ({
    ...{ id, method: "tools/call", name: "charge", params: { name: "charge" }, startedAtMs: id },
    outcome: async () => {
      const outcome = await entries.get(id)?.ended.promise;
      entries.delete(id);
      return outcome ?? done;
    },
  });
  return {
    recovered: async () => [...entries].filter(([, { isFree }]) => isFree).map(([id]) => show(id)),
    claim: (id: number) => Object.assign(entries.get(id) ?? {}, { isFree: false }),
    end: (id: number) => entries.get(id)?.ended.resolve(done),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test(`${verifies("K-10")}what nobody claims is reported once, when it has ended`, async () => {
  const source = earlier(1, 2);
  const reported: unknown[] = [];
  const reporter = unclaimedReporter(source, ({ id }) => reported.push(id));
  source.end(1);
  await settled();
  expect(reported).toEqual([]);
  await reporter.look();
  await reporter.look();
  await settled();
  expect(reported).toEqual([1]);
  source.end(2);
  await settled();
  await reporter.look();
  expect(reported).toEqual([1, 2]);
});

test(`${verifies("K-10")}what a call claims meanwhile is not reported`, async () => {
  const source = earlier(1, 2);
  const reported: unknown[] = [];
  const reporter = unclaimedReporter(source, ({ id }) => reported.push(id));
  await reporter.recheck();
  await reporter.look();
  source.claim(1);
  await reporter.recheck();
  source.end(1);
  source.end(2);
  await settled();
  expect(reported).toEqual([2]);
});

test("the notice says which call, and how it ended", async () => {
  const [call] = await earlier(7).recovered();
  if (call === undefined) throw new Error("no call");
  const { params } = recoveredNotice(call, done);
  expect(params).toMatchObject({ level: "notice", logger: "holdfast" });
  expect(params.data).toEqual({
    type: "recovered-outcome",
    ...{ requestId: 7, method: "tools/call", name: "charge", params: { name: "charge" } },
    startedAt: "1970-01-01T00:00:00.007Z",
    outcome: done,
    message:
      'tools/call "charge", which was sent at 1970-01-01T00:00:00.007Z, has brought its result ' +
      "after all.",
  });
});
