import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { ClientState, StateChange, StoredCall } from "./client-state.ts";
import { memoryState } from "./memory-state.ts";
import { stateWriter } from "./state-writer.ts";

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

const cursor = (wireId: number, at: string): StateChange => ({
  ...{ change: "setCallCursor", wireId, cursor: at },
});
const call = (wireId: number) => ({ change: "putCall" as const, call: { wireId } as StoredCall });

/** A state that writes down its commits, and fails while it is told to. */
function recorder() {
  const commits: (readonly StateChange[])[] = [];
  const errors: Error[] = [];
  const told = { isFull: false };
  const state: ClientState = {
    ...memoryState(),
    commit: (changes) => {
      if (told.isFull) throw new Error("the disk is full");
      commits.push([...changes]);
    },
  };
  return { commits, errors, told, writer: stateWriter(state, (error) => errors.push(error)) };
}

describe("the writer of the state", () => {
  test(`${verifies("K-03")}what must be durable first is, in one commit for all of a task`, async () => {
    const { commits, writer } = recorder();
    const first = writer.before(call(1));
    const second = writer.before(call(2));
    expect(commits).toEqual([]);
    await first;
    expect(commits).toEqual([[call(1), call(2)]]);
    await second;
    await writer.before(call(3));
    expect(commits).toHaveLength(2);
  });

  test(`${verifies("K-03")}what follows a hand-on waits for the end of the turn, the last cursor counts`, async () => {
    const { commits, writer } = recorder();
    writer.after(cursor(1, "a"));
    writer.after(cursor(2, "x"));
    writer.after(cursor(1, "b"));
    await Promise.resolve();
    expect(commits).toEqual([]);
    await endOfTurn();
    expect(commits).toEqual([[cursor(2, "x"), cursor(1, "b")]]);
    await endOfTurn();
    expect(commits).toHaveLength(1);
  });

  test(`${verifies("K-07")}a call that goes out anew takes no old cursor with it`, async () => {
    const { commits, writer } = recorder();
    writer.after(cursor(1, "old"));
    await writer.before(call(1));
    await endOfTurn();
    expect(commits).toEqual([[call(1)]]);
  });

  test("a write that fails is told, and tried again with the next", async () => {
    const { commits, errors, told, writer } = recorder();
    told.isFull = true;
    writer.after(cursor(1, "a"));
    await endOfTurn();
    expect(errors.map(({ message }) => message)).toEqual(["the disk is full"]);
    await expect(writer.before(call(5))).rejects.toThrow("the disk is full");
    told.isFull = false;
    writer.after(cursor(2, "b"));
    await endOfTurn();
    expect(commits).toEqual([[cursor(1, "a"), cursor(2, "b")]]);
  });
});
