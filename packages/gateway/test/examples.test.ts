/** The examples for operators, run as they stand. */
import { fileURLToPath } from "node:url";
import { disposeAll, findBinary, spawnProcess, verifies, within } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

const example = (path: string) =>
  fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));

test.skipIf(findBinary("curl") === undefined)(
  `${verifies("S-01", "R-01")}examples/gateway: a call that curl cuts is resumed, each event once`,
  async () => {
    const script = await spawnProcess(example("gateway/cut-and-resume.sh"));
    expect((await within(script.exited, "the end of the example", 50_000)).code).toBe(0);
    const [, cut = "", resumed = "", charges] = script.stdout.split(/^--- .*?: ?|^--- .*$/m);
    const steps = (text: string) => text.match(/"progress":\d/g) ?? [];
    expect(steps(cut).length).toBeGreaterThan(0);
    expect(cut).not.toContain("was charged");
    expect([...steps(cut), ...steps(resumed)]).toEqual([1, 2, 3, 4].map((n) => `"progress":${n}`));
    expect(resumed.match(/was charged/g)).toHaveLength(1);
    expect(charges?.trim()).toBe("1");
    expect(script.stderr).toBe("");
  },
);
