import { expect, test } from "vitest";
import { childEnvironment, findCommandFault } from "./environment.ts";

test("children get the environment without what is meant for the gateway", () => {
  const env = { PATH: "/bin", HOLDFAST_PORT: "1", holdfast_x: "y", API_KEY: "k" };
  expect(childEnvironment(env)).toEqual({ PATH: "/bin", holdfast_x: "y", API_KEY: "k" });
});

test.each([
  ["sh", undefined],
  ["/bin/sh", undefined],
  ["no-such-command-8848", "ENOENT"],
  ["/no/such/command", "ENOENT"],
  ["/etc/passwd", "EACCES"],
  ["/etc", "EACCES"],
])("a command is looked for as spawn will: %s", (command, fault) => {
  expect(findCommandFault(command, { PATH: "/nowhere:/usr/bin:/bin" })).toBe(fault);
});
