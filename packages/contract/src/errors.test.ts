import { expect, test } from "vitest";
import { errorTable, HoldfastError, LogError, SessionResumptionError } from "./index.ts";

test("an error carries its code, what was seen and needed, and the hint of the table", () => {
  const cause = new Error("EBUSY");
  const error = new LogError("ERR_LOG_LOCKED", "Process 412 holds ./holdfast.db.", {
    seen: 412,
    needed: "a log of its own",
    cause,
  });
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({
    name: "LogError",
    code: "ERR_LOG_LOCKED",
    message: "Process 412 holds ./holdfast.db.",
    hint: errorTable.ERR_LOG_LOCKED.fix,
    seen: 412,
    needed: "a log of its own",
    cause,
  });
});

test("an error may bring a better hint, and without facts it has none", () => {
  const error = new SessionResumptionError("ERR_NO_HEAD", "x", { hint: "Look there." });
  expect(error.hint).toBe("Look there.");
  expect(error.seen).toBeUndefined();
  expect(error.needed).toBeUndefined();
  expect("cause" in error).toBe(false);
  expect(new HoldfastError("ERR_OPTION", "x").name).toBe("HoldfastError");
});

test.each(Object.entries(errorTable))("%s is told in sentences", (_code, { meaning, fix }) => {
  for (const sentence of [meaning, fix]) expect(sentence).toMatch(/^[A-Z].*\.$/);
});
