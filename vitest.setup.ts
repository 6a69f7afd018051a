/** Before each test file: a failing test says on which seeds it ran. */
import { seedHints } from "@holdfast/testkit";
import { afterEach } from "vitest";

afterEach(({ task }) => {
  if (task.result?.state === "fail") for (const hint of seedHints()) console.warn(hint);
});
