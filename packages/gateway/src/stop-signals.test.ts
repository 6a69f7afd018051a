import { expect, test } from "vitest";
import { echoMs, stopOnSignals } from "./stop-signals.ts";

function stopper() {
  let nowMs = 1000;
  const done: (string | number)[] = [];
  const handlers = { stop: () => done.push("stop"), abandon: (code: number) => done.push(code) };
  const onSignal = stopOnSignals(handlers, () => nowMs);
  return {
    done,
    onSignal,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test("the first signal stops, the second ends at once with its own code", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const { done, onSignal, pass } = stopper();
    onSignal("SIGINT");
    expect(done).toEqual(["stop"]);
    pass(echoMs + 1);
    onSignal(signal);
    expect(done).toEqual(["stop", code]);
  }
});

test("a Ctrl-C that npm passes on as well is one Ctrl-C", () => {
  const { done, onSignal, pass } = stopper();
  onSignal("SIGINT");
  onSignal("SIGINT");
  pass(echoMs);
  onSignal("SIGINT");
  expect(done).toEqual(["stop"]);
});

test("a second SIGTERM is no echo, however soon it comes", () => {
  const { done, onSignal } = stopper();
  onSignal("SIGTERM");
  onSignal("SIGTERM");
  expect(done).toEqual(["stop", 143]);
});
