/**
 * Any sequence of fates: nothing runs twice, nothing is resumed without a cursor, nothing is handed
 * on twice, and each request ends exactly once, in bounded time.
 */
import { memoryState } from "@holdfast/client";
import { defaultReconnectPolicy, worstCaseReconnectMs } from "@holdfast/contract";
import { testSeed, verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Breed, type Fate, fates, ModelServer } from "./model-server.ts";
import { rest, virtualTime } from "./virtual-time.ts";
import { initializeParams, openWorld, type World } from "./world.ts";

interface Plan {
  readonly breed: Breed;
  readonly fates: readonly Fate[];
  /** After so many fates the application makes its next call; reads: it is safe to repeat. */
  readonly calls: readonly { readonly after: number; readonly reads: boolean }[];
  /** After so many fates the process dies, and another one takes over. */
  readonly dies: number | null;
}

const plans: fc.Arbitrary<Plan> = fc.record({
  breed: fc.constantFrom<Breed>("plain", "holdfast", "keyed", "shared"),
  fates: fc.array(fates, { minLength: 5, maxLength: 60 }),
  calls: fc.array(fc.record({ after: fc.nat({ max: 40 }), reads: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  }),
  dies: fc.option(fc.integer({ min: 5, max: 40 })),
});

const deadServer: Fate = { kind: "die", events: 0, lastly: "reset" };

/** What one life of the application has made, and what came of it. */
interface Life {
  readonly world: World;
  readonly sent: Map<number, { readonly payload: string; ends: number; isRejected: boolean }>;
}

async function live(plan: Plan): Promise<{ server: ModelServer; lives: Life[] }> {
  const server = new ModelServer(plan.breed);
  const time = virtualTime();
  const state = memoryState();
  const lives: Life[] = [];
  const calls = plan.calls.toSorted((a, b) => a.after - b.after);
  let used = 0;
  let made = 0;
  let quietMs = 0;
  const begin = async () => {
    const world = await openWorld({ state, time, reattach: false });
    lives.push({ world, sent: new Map() });
    const { sent } = world.request(0, "initialize", initializeParams);
    const hello = { jsonrpc: "2.0", method: "notifications/initialized" };
    sent.then(() => world.transport.send(hello)).catch(() => {});
  };
  const nextFate = () => plan.fates[used++] ?? deadServer;
  await begin();
  // Each turn uses a fate, makes a call, or lets a timer run: so many cannot be needed.
  for (let turn = 0; turn < 5_000; turn += 1) {
    await rest();
    const life = lives.at(-1) as Life;
    const { world } = life;
    if (plan.dies !== null && lives.length === 1 && used >= plan.dies) {
      await world.transport.close();
      await begin();
      continue;
    }
    const due = calls[made];
    if (due !== undefined && (used >= due.after || used >= plan.fates.length)) {
      make(life, made, due.reads);
      made += 1;
      continue;
    }
    const [request] = world.server.open();
    if (request !== undefined) {
      server.answer(request, nextFate());
      continue;
    }
    if (used < plan.fates.length && server.nudge(plan.fates[used] as Fate)) {
      used += 1;
      continue;
    }
    if (used >= plan.fates.length) {
      server.collapse();
      await rest();
      quietMs += world.server.open().length > 0 ? 0 : await waitOnce(world);
      // [C W-02] whatever was under way has ended by now.
      if (quietMs > 2 * worstCaseReconnectMs(defaultReconnectPolicy)) break;
    } else if (time.nextMs() === undefined) used = plan.fates.length;
    else await time.toNext();
  }
  await rest();
  return { server, lives };
}

async function waitOnce(world: World): Promise<number> {
  if (world.time.nextMs() !== undefined) return world.time.toNext();
  await world.time.pass(10_000);
  return 10_000;
}

function make({ world, sent }: Life, n: number, reads: boolean): void {
  const id = 100 + n;
  const payload = reads ? `read-${n}` : `charge-${n}`;
  const entry = { payload, ends: 0, isRejected: false };
  sent.set(id, entry);
  const method = reads ? "prompts/get" : "tools/call";
  world.request(id, method, { name: payload }).sent.catch(() => {
    entry.isRejected = true;
  });
}

function judge(plan: Plan, { server, lives }: Awaited<ReturnType<typeof live>>): void {
  expect(server.sins).toEqual([]);
  for (const [payload, runs] of server.runs) {
    if (payload.startsWith("charge")) expect([payload, runs]).toEqual([payload, 1]);
  }
  const isLast = (life: Life) => life === lives.at(-1);
  for (const life of lives) {
    const { world, sent } = life;
    for (const [id, { payload, isRejected }] of sent) {
      const answers = world.answersTo(id);
      const ends = answers.length + Number(isRejected);
      // A process that died owes nothing; a living one owes one end to each.
      if (isLast(life)) expect([payload, ends]).toEqual([payload, 1]);
      expect(ends).toBeLessThanOrEqual(1);
      // [C K-09] an error of the transport's own says that nothing ran.
      const isProof = isRejected && isLast(life) && payload.startsWith("charge");
      if (isProof) expect([payload, server.runs.get(payload)]).toEqual([payload, undefined]);
      for (const { result } of answers) if (result) expect(result).toEqual({ for: payload });
    }
    const told = world.told.unknown.map(({ requestId }) => requestId);
    const answered = world.told.messages.filter(({ error }) => error?.code === -32011);
    expect(told.toSorted()).toEqual(answered.map(({ id }) => id).toSorted());
    expectOnceInOrder(world);
    expectCursors(world);
  }
  if (plan.dies === null) expect(lives).toHaveLength(1);
}

function expectOnceInOrder(world: World): void {
  const newest = new Map<string, number>();
  for (const { params } of world.told.messages) {
    const [place, n] = String(params?.data ?? "").split("#");
    if (place === undefined || n === undefined) continue;
    expect([place, Number(n) > (newest.get(place) ?? 0)]).toEqual([place, true]);
    newest.set(place, Number(n));
  }
}

/** [C K-02] Without a cursor only a standalone stream is asked for: first, or after a gap. */
function expectCursors(world: World): void {
  const gets = world.server.requests.filter(({ method }) => method === "GET");
  const seen = new Set<string>();
  for (const { headers } of gets) {
    const session = headers["mcp-session-id"] ?? "";
    if (headers["last-event-id"] === undefined) continue;
    seen.add(session);
  }
  const gaps = world.told.gaps.filter(({ lane, to }) => lane === "standalone" && to === null);
  const bare = gets.filter(({ headers }) => headers["last-event-id"] === undefined);
  const opened = new Set(bare.map(({ headers }) => headers["mcp-session-id"])).size;
  const failed = bare.filter((one) => one.isAborted() || one.isAnswered()).length;
  expect(bare.length).toBeLessThanOrEqual(opened + gaps.length + failed);
}

/** More by HOLDFAST_SEQUENCES. */
const sequences = Number(process.env["HOLDFAST_SEQUENCES"] ?? 300);

test(
  `${verifies("K-02", "K-04", "K-05", "K-06", "K-07", "K-09", "K-10", "K-14")}any sequence of fates`,
  async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const played = await live(plan);
        judge(plan, played);
        await played.lives.at(-1)?.world.transport.close();
        await rest();
        // Nothing is left that would keep a process alive.
        for (const { world } of played.lives) {
          expect([world.server.open(), world.time.nextMs()]).toEqual([[], undefined]);
        }
      }),
      { seed: testSeed("transport.prop"), numRuns: sequences },
    );
  },
  120_000 + 20 * sequences,
);
