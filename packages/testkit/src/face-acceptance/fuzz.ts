/** Chapter: whatever is sent, the endpoint answers as it should, and tells nobody's secrets. */
import { expect, test } from "vitest";
import { type SeededRandom, seededRandom, testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, primed, replayed } from "./checks.ts";
import { type FuzzInput, type FuzzSeeds, fuzzInput } from "./fuzz-inputs.ts";
import { type RawAnswer, rawAnswer } from "./raw-answer.ts";
import { respondToSetup } from "./scripted-upstream.ts";

/** For each face: the two that the runtime brings take 10,000 together. */
const inputsMax = 5_000;
/** A deadline, should one of them never be answered; a busy machine takes its time. */
const deadlineMs = 240_000;
/** So many clients at once, each with a session of its own. */
const lanes = 4;

const canary = "canary-3b1f6d";

export function fuzzChapter(open: OpenBench): void {
  test(
    `${verifies("D-03", "S-04", "R-05")}${inputsMax} requests of chance: no crash, no 5xx, no secret told`,
    async () => {
      const seed = testSeed("fuzz");
      const faults = watchProcess();
      const bench = await open({ options: { path: "/mcp" } });
      const secret = await keepSecret(bench);
      bench.upstreams.respond = (request, upstream) => respondToSetup(request, upstream) ?? {};
      const statuses = new Map<number, number>();
      const runs = Array.from({ length: lanes }, (_, lane) =>
        runLane(bench, seededRandom(seed + lane), secret.cursors, statuses),
      );
      await Promise.all(runs);

      // What came through is of every kind: else the inputs were too wild, or too tame.
      for (const status of [200, 202, 204, 400, 403, 404, 405, 406, 410, 415]) {
        expect(statuses.has(status) ? status : `no ${status} among ${[...statuses]}`).toBe(status);
      }
      await expectAlive(secret.session);
      expect(await replayed(secret.session, secret.cursors[0] ?? "")).toEqual([secret.text]);
      expect(bench.logLines.filter(({ level }) => level === "error")).toEqual([]);
      expect(faults.stop()).toEqual([]);
    },
    deadlineMs,
  );
}

/** A session with something in it that no other may see, on both kinds of stream. */
async function keepSecret(bench: Bench) {
  const session = await bench.session();
  session.upstream.say({ method: "notifications/resources/updated", params: { uri: canary } });
  const standalone = await session.get();
  const standaloneCursor = await primed(standalone);
  await standalone.nextMessage();
  const stream = await session.call(canary, {}, { id: 1 });
  const cursor = await primed(stream);
  (await session.upstream.request("tools/call")).answer({ text: canary });
  await stream.body();
  const cursors = [cursor, standaloneCursor];
  return { session, cursors, text: `{"jsonrpc":"2.0","id":1,"result":{"text":"${canary}"}}` };
}

async function runLane(
  bench: Bench,
  random: SeededRandom,
  foreignCursors: readonly string[],
  statuses: Map<number, number>,
): Promise<void> {
  let own = await openOwn(bench, foreignCursors);
  for (let i = 0; i < inputsMax / lanes; i++) {
    const input = fuzzInput(random, own.seeds);
    const answer = await sendInput(bench, own.session, input, `mark-${i}`);
    if (answer === undefined) {
      // Only what is no whole request may be hung up on.
      expect({ isHttp: input.isHttp, ...shown(input) }).toMatchObject({ isHttp: false });
      continue;
    }
    expectProper(input, answer);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 204 && input.method === "DELETE")
      own = await openOwn(bench, foreignCursors);
  }
  await expectAlive(own.session);
}

async function openOwn(bench: Bench, foreignCursors: readonly string[]) {
  // The version that has arrays, for more that could go wrong.
  const session = await bench.session({ version: "2025-03-26" });
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const stream = await session.request("tools/list");
    await stream.body();
    ids.push(stream.lastEventId ?? "");
  }
  session.upstream.say({ method: "notifications/tools/list_changed" });
  const standalone = await session.get();
  await standalone.nextMessage();
  ids.push(standalone.lastEventId ?? "");
  standalone.destroy();
  const cursors = ids.flatMap((id) => [id, id.replace(/\.1\.(\w+)$/, ".0.$1")]);
  const seeds: FuzzSeeds = { path: "/mcp", sessionId: session.sessionId, cursors, foreignCursors };
  return { session, seeds };
}

function sendInput(
  { target }: Bench,
  { upstream }: BenchSession,
  input: FuzzInput,
  mark: string,
): Promise<RawAnswer | undefined> {
  return rawAnswer(target, {
    ...input,
    onHead: ({ status, headers }) => {
      const isStream = headers["content-type"]?.startsWith("text/event-stream");
      if (status !== 200 || !isStream || input.method === "POST") return undefined;
      // A standalone stream has no end: what is kept is shown before what comes now.
      upstream.say({ method: "notifications/resources/updated", params: { uri: mark } });
      return mark;
    },
  });
}

function expectProper(input: FuzzInput, answer: RawAnswer): void {
  const { status, headers, body } = answer;
  const context = { ...shown(input), status, body: body.slice(0, 500) };
  expect(`${JSON.stringify(headers)}${body}`.includes(canary) ? context : undefined).toBe(
    undefined,
  );
  if (status >= 200 && status < 300) return;
  expect(status >= 400 && status < 500 ? status : context).toBe(status);
  if (input.method === "HEAD" || (!input.isHttp && body === "")) return;
  expect({ type: headers["content-type"], ...context }).toMatchObject({ type: "application/json" });
  const { error } = JSON.parse(body) as { readonly error?: { readonly message?: unknown } };
  expect(typeof error?.message === "string" ? "a message" : context).toBe("a message");
}

/** The request that made a check fail, so that it can be read. */
function shown({ bytes }: FuzzInput): object {
  return { request: bytes.toString("latin1").slice(0, 2_000) };
}

/** Nothing may reach the process that nobody caught. */
function watchProcess() {
  const faults: unknown[] = [];
  const note = (fault: unknown) => void faults.push(fault);
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
  return {
    stop: () => {
      process.off("uncaughtException", note);
      process.off("unhandledRejection", note);
      return faults;
    },
  };
}
