/** Both states alike: what is committed is there for who comes next [C K-03] [C K-14]. */
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { disposeAll, onDispose, spawnProcess, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientState, StateChange, StoredCall, StoredSession } from "./client-state.ts";
import { idBlock } from "./client-state.ts";
import { fileState } from "./file-state.ts";
import { memoryState } from "./memory-state.ts";

afterEach(disposeAll);

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-client-"));
  onDispose(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const session: StoredSession = {
  ...{ key: 3, url: "http://127.0.0.1:9/mcp", sessionId: "S1", version: "2025-11-25" },
  params: { capabilities: {}, clientInfo: { name: "é🚢" } },
  result: { serverInfo: { name: "x" } },
  setup: { logLevel: { level: "debug" }, subscriptions: ["a://1"] },
};

const call: StoredCall = {
  ...{ wireId: 7, session: 3, appId: '"seven"', method: "tools/call", name: "charge" },
  ...{ digest: "d", body: '{"id":7}', idempotencyKey: "k", isSafe: true, isSafeAcross: false },
  startedAtMs: 1_900_000_000_000,
};

const everything: readonly StateChange[] = [
  { change: "putSession", session },
  { change: "setCurrent", key: 3 },
  { change: "setSessionCursor", key: 3, cursor: "g1" },
  { change: "putCall", call },
  { change: "putCall", call: { ...call, wireId: 8, name: null, idempotencyKey: null } },
  { change: "setCallCursor", wireId: 7, cursor: "c1" },
  { change: "setTold", wireId: 7 },
  { change: "setOutcome", wireId: 8, outcome: '{"kind":"result"}' },
];

const kinds: [
  string,
  () => { open: () => ClientState; reopen: (old: ClientState) => ClientState },
][] = [
  [
    "memory",
    () => {
      const state = memoryState();
      return { open: () => state, reopen: () => state };
    },
  ],
  [
    "file",
    () => {
      const path = join(freshDirectory(), "deep", "state");
      return { open: () => fileState(path), reopen: () => fileState(path) };
    },
  ],
];

describe.each(kinds)("a state in %s", (_kind, make) => {
  test(`${verifies("K-03", "K-10")}keeps everything for who comes next`, () => {
    const { open, reopen } = make();
    const first = open();
    expect(first.open(1)).toEqual({
      ...{ currentSession: null, sessions: [], cursors: new Map(), ledger: [] },
    });
    first.commit(everything);
    first.close();
    const second = reopen(first);
    expect(second.open(2)).toEqual({
      currentSession: 3,
      sessions: [session],
      cursors: new Map([[3, "g1"]]),
      ledger: [
        { call, cursor: "c1", isTold: true, outcome: null },
        {
          call: { ...call, wireId: 8, name: null, idempotencyKey: null },
          ...{ cursor: null, isTold: false, outcome: '{"kind":"result"}' },
        },
      ],
    });
    second.commit([
      { change: "dropCall", wireId: 8 },
      { change: "putCall", call },
      { change: "putSession", session: { ...session, sessionId: null, version: null } },
      { change: "setSessionCursor", key: 3, cursor: null },
      { change: "setCurrent", key: null },
    ]);
    second.close();
    const third = reopen(second);
    expect(third.open(3)).toEqual({
      currentSession: null,
      sessions: [{ ...session, sessionId: null, version: null }],
      cursors: new Map(),
      ledger: [{ call, cursor: null, isTold: false, outcome: null }],
    });
    third.commit([
      { change: "setSessionCursor", key: 3, cursor: "g9" },
      { change: "dropSession", key: 3 },
      { change: "dropCall", wireId: 7 },
    ]);
    third.close();
    const last = reopen(third);
    expect(last.open(4)).toMatchObject({ sessions: [], cursors: new Map(), ledger: [] });
    last.close();
  });

  test(`${verifies("K-14")}gives every id out once`, () => {
    const { open, reopen } = make();
    let state = open();
    const firsts: number[] = [];
    for (let life = 0; life < 3; life += 1) {
      state.open(1);
      firsts.push(state.reserveIds(), state.reserveIds());
      state.close();
      state = reopen(state);
    }
    expect(firsts).toEqual([0, 1, 2, 3, 4, 5].map((n) => 1 + n * idBlock));
  });

  test(`${verifies("K-12")}is held by one transport at a time`, () => {
    const { open, reopen } = make();
    const first = open();
    first.open(1);
    expect(() => reopen(first).open(2)).toThrow(/held by|holds this state/);
    first.close();
    const second = reopen(first);
    second.open(3);
    second.close();
  });
});

describe("a state in a file", () => {
  test(`${verifies("K-12", "K-14")}is held by one process, which the second is told; kill -9 frees it`, async () => {
    const path = join(freshDirectory(), "state");
    const script = fileURLToPath(new URL("../../test/state-process.ts", import.meta.url));
    const args = ["--expose-gc", script, path];
    const holder = await spawnProcess("node", args, { readyPattern: /^\d+$/m });
    const [first] = holder.ready ?? [];
    const state = fileState(path);
    const tried = () => state.open(Date.now());
    expect(tried).toThrow(expect.objectContaining({ code: "ERR_STATE_LOCKED", seen: holder.pid }));
    expect(tried).toThrow(new RegExp(`process ${holder.pid}, which was started at 20\\d\\d-`));
    await holder.kill();
    state.open(Date.now());
    expect(state.reserveIds()).toBe(Number(first) + idBlock);
    state.close();
  });

  test("is for its owner alone, and so is everything beside it", () => {
    const directory = freshDirectory();
    const path = join(directory, "state");
    const state = fileState(path);
    state.open(Date.now());
    state.commit(everything);
    for (const suffix of ["", "-wal", "-shm", ".lock", ".pid"]) {
      expect([suffix, statSync(path + suffix).mode & 0o777]).toEqual([suffix, 0o600]);
    }
    state.close();
  });

  test.each([
    ["is damaged", "ERR_STATE_CORRUPT", (path: string) => writeFileSync(path, "x".repeat(4_096))],
    ["is cut off", "ERR_STATE_CORRUPT", (path: string) => truncateSync(path, 100)],
    [
      "is of another application",
      "ERR_STATE_CORRUPT",
      (path: string) => {
        rmSync(path);
        const db = new DatabaseSync(path);
        db.exec("create table theirs (x)");
        db.close();
      },
    ],
    [
      "is newer",
      "ERR_STATE_NEWER",
      (path: string) => {
        const db = new DatabaseSync(path);
        db.exec("pragma user_version = 99");
        db.close();
      },
    ],
  ])("a file that %s is refused, and left as it is", (_name, code, spoil) => {
    const path = join(freshDirectory(), "state");
    const state = fileState(path);
    state.open(1);
    state.commit(everything);
    state.close();
    spoil(path);
    const before = readFileSync(path);
    expect(() => fileState(path).open(2)).toThrow(expect.objectContaining({ code }));
    expect(readFileSync(path).equals(before)).toBe(true);
    // Nobody is shut out by the attempt.
    expect(() => fileState(path).open(3)).toThrow(expect.objectContaining({ code }));
  });

  test("a path that cannot be used is said so", () => {
    const directory = freshDirectory();
    writeFileSync(join(directory, "file"), "");
    const state = fileState(join(directory, "file", "state"));
    expect(() => state.open(1)).toThrow(expect.objectContaining({ code: "ERR_STATE_UNAVAILABLE" }));
    expect(() => state.commit([])).toThrow(expect.objectContaining({ code: "ERR_CLIENT_CLOSED" }));
  });

  test("a change that fails takes the others of its commit back", () => {
    const path = join(freshDirectory(), "state");
    const state = fileState(path);
    state.open(1);
    const broken = { ...call, body: null as unknown as string };
    const changes: StateChange[] = [
      { change: "putSession", session },
      { change: "putCall", call: broken },
    ];
    expect(() => state.commit(changes)).toThrow(
      expect.objectContaining({ code: "ERR_STATE_UNAVAILABLE" }),
    );
    state.commit([{ change: "putCall", call }]);
    state.close();
    const next = fileState(path);
    expect(next.open(2)).toMatchObject({ sessions: [], ledger: [{ call }] });
    next.close();
  });
});
