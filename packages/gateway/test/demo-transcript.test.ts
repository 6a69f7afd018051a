/** The lines that `demo serve` prints, pasted into a shell. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { disposeAll, findBinary, spawnProcess, verifies, within } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory, startGateway } from "./gateway-process.ts";

afterEach(disposeAll);

test.skipIf(findBinary("curl") === undefined)(
  `${verifies("R-01")}the printed lines show a cut and its resume, each event once`,
  async () => {
    const gateway = await startGateway(["demo", "serve"]);
    await gateway.line(/^curl .*last-event-id/);
    // As printed, but for the time that it takes.
    const printed = gateway.stdout.split("\n").filter((line) => /^(?:U=|S=|E=|curl )/.test(line));
    const quick = printed.map((line) =>
      line.replace(" -m 3 ", " -m 1.5 ").replace('"amount":42', '"amount":42,"seconds":3'),
    );
    expect(quick).not.toEqual(printed);
    // `tee /dev/stderr` wants a terminal or a file, not the socket that a test has.
    const file = join(scratchDirectory(), "stderr");
    const script = ['exec 2>"$0"', ...quick].join("\n");
    const shell = await spawnProcess("sh", ["-c", script, file]);
    expect((await within(shell.exited, "the shell")).code).toBe(0);
    const before = readFileSync(file, "utf8");
    const cut = before.match(/"progress":\d/g) ?? [];
    const resumed = shell.stdout.match(/"progress":\d/g) ?? [];
    expect(cut.length).toBeGreaterThan(0);
    expect([...cut, ...resumed]).toEqual(['"progress":1', '"progress":2', '"progress":3']);
    expect(shell.stdout).toContain("charge #1: 42 was charged");
    expect(before).not.toContain("was charged");
  },
);
