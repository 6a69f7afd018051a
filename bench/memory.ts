/** What a session costs that is open and does nothing: memory of the server, by session. */
import { openLane } from "./http-lane.ts";
import { openLoadSession } from "./mcp-load.ts";
import { startMeasured } from "./measured-process.ts";
import type { Report } from "./report.ts";

const contestants = [
  { name: "holdfast", title: "Holdfast, SQLite log" },
  { name: "holdfast-sdk", title: "Holdfast, SDK v1 server, SQLite log" },
  { name: "sdk-v2", title: "SDK v2, store in memory" },
  { name: "sdk-v1", title: "SDK v1, store in memory" },
] as const;

export interface MemoryOptions {
  readonly sessions: number;
}

export async function measureMemory({ sessions }: MemoryOptions): Promise<Report> {
  const rows: string[][] = [];
  const heaps = new Map<string, number>();
  for (const { name, title } of contestants) {
    const server = await startMeasured(name);
    const lane = await openLane(server.port);
    try {
      // The first sessions bring code and caches with them.
      await openSessions(lane, sessions / 10);
      const before = await server.memory();
      await openSessions(lane, sessions);
      const after = await server.memory();
      const perSession = (bytes: number) => Math.round(bytes / sessions);
      const heap = perSession(after.heapBytes - before.heapBytes);
      heaps.set(name, heap);
      rows.push([title, `${heap}`, `${perSession(after.rssBytes - before.rssBytes)}`]);
    } finally {
      lane.close();
      await server.stop();
    }
  }
  return {
    title: "memory: one idle session",
    note:
      `${sessions} sessions, initialized and left alone, with a trivial upstream in the same ` +
      "process (behind `holdfast serve -- COMMAND` each has a process of its own beside this). " +
      "JavaScript heap and buffers after a collection; resident memory as the system counts it.",
    columns: ["server", "heap, bytes", "resident, bytes"],
    rows,
    bounds: [
      {
        name: "Holdfast ÷ SDK v1's own transport, the same SDK server behind both",
        value: (heaps.get("holdfast-sdk") ?? 0) / (heaps.get("sdk-v1") ?? 0),
        max: 1,
      },
    ],
  };
}

async function openSessions(
  lane: Parameters<typeof openLoadSession>[0],
  count: number,
): Promise<void> {
  for (let i = 0; i < count; i += 1) await openLoadSession(lane);
}
