import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { disposeAll, fakeClock, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { rereadMs, tokenFileAuthentication } from "../src/auth/token-file.ts";
import { scratchDirectory } from "./gateway-process.ts";
import { recordingLogger } from "./recording-logger.ts";

afterEach(disposeAll);

async function openFile(text: string) {
  const file = join(scratchDirectory(), "tokens.txt");
  writeFileSync(file, text);
  const clock = fakeClock();
  const log = recordingLogger();
  const authenticate = await tokenFileAuthentication({
    file,
    metadataUrl: () => undefined,
    logger: log.logger,
    nowMs: clock.monotonicMs,
  });
  return {
    ...{ file, log, clock },
    ask: (token: string) => authenticate({ header: () => `Bearer ${token}` }),
  };
}

const principal = (subject: string) => ({
  kind: "principal",
  principal: JSON.stringify(["bearer", subject]),
});
const refused = { kind: "refused", challenge: expect.stringContaining("invalid_token") };

test(`${verifies("S-06")}a principal is its subject, whatever its token`, async () => {
  const { ask } = await openFile("one alice\ntok-2 alice\nthree bob\n");
  expect(await ask("one")).toEqual(principal("alice"));
  expect(await ask("tok-2")).toEqual(principal("alice"));
  expect(await ask("three")).toEqual(principal("bob"));
  expect(await ask("four")).toMatchObject(refused);
});

test("a change counts at the next look, a second later at most, and is told without tokens", async () => {
  const { file, clock, ask, log } = await openFile("one alice\n");
  writeFileSync(file, "tok-2 alice\n");
  clock.advance(rereadMs - 1);
  expect(await ask("one")).toEqual(principal("alice"));
  clock.advance(1);
  const answers = await Promise.all([ask("one"), ask("tok-2")]);
  expect(answers).toMatchObject([refused, principal("alice")]);
  // As long as the one before, and within one tick of the file system's clock.
  writeFileSync(file, "tok-6 alice\n");
  clock.advance(rereadMs);
  expect(await ask("tok-6")).toEqual(principal("alice"));
  expect(await ask("tok-2")).toMatchObject(refused);
  expect(log.messages).toEqual(Array(2).fill("the file of tokens has changed"));
  expect(log.text).not.toMatch(/tok-[26]/);
});

test("a file that cannot be used leaves the earlier tokens good, and is told once", async () => {
  const { file, clock, ask, log } = await openFile("one alice\n");
  for (const spoil of [() => writeFileSync(file, "nonsense\n"), () => rmSync(file)]) {
    spoil();
    for (let look = 0; look < 3; look++) {
      clock.advance(rereadMs);
      expect(await ask("one")).toEqual(principal("alice"));
    }
  }
  const problems = log.text.match(/"problem":"[^"]*"/g);
  expect(problems).toEqual([
    '"problem":"line 1 has no subject; write TOKEN SUBJECT"',
    '"problem":"it cannot be read (ENOENT)"',
  ]);
  writeFileSync(file, "tok-2 alice\n");
  clock.advance(rereadMs);
  expect(await ask("tok-2")).toEqual(principal("alice"));
});

test.each([
  ["is not there", (file: string) => rmSync(file), /it cannot be read \(ENOENT\)/],
  ["is no file", (file: string) => `${file}/..`, /it is no regular file|it cannot be read/],
  ["is a device", () => "/dev/null", /it is no regular file/],
  ["is empty", (file: string) => writeFileSync(file, ""), /it holds no token/],
])("a start with a file that %s is refused", async (_what, spoil, problem) => {
  const file = join(scratchDirectory(), "tokens.txt");
  writeFileSync(file, "one alice\n");
  const named = spoil(file) ?? file;
  const { logger } = recordingLogger();
  const parts = { file: named, metadataUrl: () => undefined, logger, nowMs: () => 0 };
  await expect(tokenFileAuthentication(parts)).rejects.toMatchObject({
    code: "ERR_OPTION",
    message: expect.stringMatching(problem),
    hint: expect.stringContaining("alice"),
  });
});
