import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { signal, waitFor, within } from "./wait-for.ts";

test("a wait that is not met says what it waited for", async () => {
  await expect(within(new Promise(() => {}), "the moon", 5)).rejects.toThrow(
    "waited 5 ms for the moon",
  );
});

test("waitFor takes the first event that matches and leaves no listener", async () => {
  const emitter = new EventEmitter();
  const second = waitFor(emitter, "tick", (n) => n === 2);
  emitter.emit("tick", 1);
  emitter.emit("tick", 2, "more");
  expect(await second).toEqual([2, "more"]);
  expect(emitter.listenerCount("tick")).toBe(0);
});

test("a signal is seen by those who wait when it comes, not by later ones", async () => {
  const cuts = signal<number>("cut");
  cuts.emit(1);
  const [any, large] = [cuts.next(), cuts.next((n) => n > 2)];
  cuts.emit(2);
  cuts.emit(3);
  expect(await Promise.all([any, large])).toEqual([2, 3]);
});
