/** The checker of the soak must notice what it is there for. */
import { expect, test } from "vitest";
import { judgeHistory } from "./soak/checker.ts";
import type { Fact } from "./soak/history.ts";

const tag = "0123456789abcdef";
const at = (stream: number, position: number) => `${tag}.${stream}.${position}.aaaaaaaa`;
const text = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });

const posted: Fact = {
  ...{ kind: "posted", post: 1, session: "s", label: "call-1" },
  ...{ key: undefined, steps: 1 },
};
const answered: Fact = {
  ...{ kind: "answered", post: 1, status: 200 },
  ...{ isNotRun: false, first: at(1, 0) },
};
const event = (position: number, message: object, after = at(1, 0)): Fact => ({
  ...{ kind: "event", session: "s", id: at(1, position) },
  ...{ text: text(message), after },
});
const step = { method: "notifications/progress", params: { progress: 1 } };
const result = { id: 1, result: { content: [{ type: "text", text: "call-1" }] } };
const replayed: Fact = {
  ...{ kind: "replayed", session: "s", first: at(1, 0) },
  ...{ ids: [at(1, 1), at(1, 2)], isOver: true },
};
const good = [posted, answered, event(1, step), event(2, result), replayed];

test("a history that holds", () => {
  expect(judgeHistory(good, ["call-1"])).toEqual([]);
  const unknown = { id: 1, error: { code: -32011, message: "", data: { requestId: 1 } } };
  const lost = [posted, answered, event(1, step), event(2, unknown), replayed];
  expect(judgeHistory(lost, ["call-1"])).toEqual([]);
  expect(judgeHistory(lost, [])).toEqual([]);
});

test.each<[string, readonly Fact[], readonly string[], RegExp]>([
  ["an effect twice", good, ["call-1", "call-1"], /effect 2 times/],
  ["an effect of nobody", good, ["call-1", "call-2"], /nobody asked/],
  ["a result without an effect", good, [], /no effect/],
  ["an id of two events", [...good, event(1, { method: "x" })], ["call-1"], /two events/],
  ["a hole", [posted, answered, event(2, result), replayed], ["call-1"], /came/],
  ["a step untold", [posted, answered, event(1, result), replayed], ["call-1"], /steps/],
  ["no end", [posted, answered, event(1, step), replayed], ["call-1"], /0 ends/],
  ["two ends", [...good, event(3, { ...result, n: 1 })], ["call-1"], /2 ends/],
  [
    "another's answer",
    [posted, answered, event(1, { ...result, id: 2 }), replayed],
    [],
    /answer of/,
  ],
  [
    "an open stream",
    [...good.slice(0, 4), { ...replayed, isOver: false } as Fact],
    ["call-1"],
    /no end/,
  ],
  [
    "an event that is gone",
    [...good.slice(0, 4), { ...replayed, ids: [at(1, 2)] } as Fact],
    ["call-1"],
    /not there any more/,
  ],
  ["a session that is lost", [posted, { ...answered, status: 404 } as Fact], [], /answered 404/],
  [
    "notRun that ran",
    [posted, { ...answered, status: 503, isNotRun: true, first: undefined } as Fact],
    ["call-1"],
    /not to have run/,
  ],
])("%s is noticed", (_what, history, effects, problem) => {
  expect(judgeHistory(history, effects).join("\n")).toMatch(problem);
});
