import { expect, test } from "vitest";
import { disposeAll, onDispose } from "./disposal.ts";

test("the newest goes first, each once, and a failure does not spare the others", async () => {
  const gone: string[] = [];
  onDispose(() => void gone.push("first"));
  onDispose(() => {
    throw new Error("stuck");
  });
  onDispose(async () => void gone.push("last"));
  const forget = onDispose(() => void gone.push("forgotten"));
  forget();
  await expect(disposeAll()).rejects.toThrow(AggregateError);
  expect(gone).toEqual(["last", "first"]);
  await disposeAll();
  expect(gone).toHaveLength(2);
});
