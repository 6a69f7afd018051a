/** What sessions leave behind that were opened and abandoned: memory of the server, and rows. */
import { once } from "node:events";
import { connect } from "node:net";
import { type HttpLane, openLane, requestText } from "./http-lane.ts";
import { call, openLoadSession } from "./mcp-load.ts";
import { startMeasured } from "./measured-process.ts";
import type { Report } from "./report.ts";
import type { Leftovers } from "./servers/abandoned.ts";

export interface AbandonedOptions {
  readonly sessions: number;
}

/** Bytes that an abandoned session may leave once it has expired. */
const leftBytesMax = 2_048;

export async function measureAbandoned({ sessions }: AbandonedOptions): Promise<Report> {
  const server = await startMeasured("abandoned");
  const lane = await openLane(server.port);
  try {
    // The first ones bring code and caches with them, and so does their end.
    await abandon(lane, server.port, Math.ceil(sessions / 5));
    await server.forget();
    const before = await server.memory();
    await abandon(lane, server.port, sessions);
    const open = await server.memory();
    const left = (await server.forget()) as Leftovers;
    const after = await server.memory();
    const perSession = (bytes: number) => bytes / sessions;
    const openBytes = perSession(open.heapBytes - before.heapBytes);
    const leftBytes = perSession(after.heapBytes - before.heapBytes);
    return {
      title: "abandoned: sessions that nobody ends",
      note:
        `${sessions} sessions: initialized, one call, a GET that is cut off, no DELETE. JavaScript ` +
        "heap and buffers after a collection, by session; then what is left when they have expired " +
        "and the 24 h of their tombstones have passed.",
      columns: ["", "heap, bytes", "sessions", "calls", "viewports", "rows"],
      rows: [
        ["abandoned", openBytes.toFixed(0), String(sessions), "", "", ""],
        [
          "expired",
          leftBytes.toFixed(0),
          ...[left.sessions, left.calls, left.viewports, left.rows].map(String),
        ],
      ],
      bounds: [
        { name: "heap left by a session, bytes", value: leftBytes, max: leftBytesMax },
        { name: "sessions left", value: left.sessions, max: 0 },
        { name: "calls left", value: left.calls, max: 0 },
        { name: "viewports left", value: left.viewports, max: 0 },
        { name: "rows left", value: left.rows, max: 0 },
      ],
    };
  } finally {
    lane.close();
    await server.stop();
  }
}

async function abandon(lane: HttpLane, port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const session = await openLoadSession(lane);
    await call(lane, session, 1);
    const headers = { ...session.headers, accept: "text/event-stream" };
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write(requestText({ method: "GET", headers }));
    await once(socket, "data");
    socket.resetAndDestroy();
  }
}
