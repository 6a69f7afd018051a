/**
 * What a durable state costs the client for each message: the same transport fed with the same
 * events, once with its state in a file, once in memory. The difference is the state's.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClientState,
  type FetchLike,
  fileState,
  memoryState,
  ResumableClientTransport,
} from "@holdfast/client";
import type { Report } from "./report.ts";
import { createSamples, rotated } from "./statistics.ts";

const microsecondsMax = 20;

/** So many events on each of so many streams in one turn of the event loop. */
interface Load {
  readonly events: number;
  readonly streams: number;
}

const busy: Load = { events: 32, streams: 8 };
/** The dearest: a transaction for each message. */
const lone: Load = { events: 1, streams: 1 };

type Name = `${"file" | "memory"}, ${"busy" | "lone"}`;

export interface ClientStateOptions {
  readonly rounds: number;
  /** In each round, of each contestant. */
  readonly messages: number;
}

export async function measureClientState(options: ClientStateOptions): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const cpu = createSamples<Name>();
  const contestants: Contestant[] = [];
  try {
    for (const [kind, load] of [
      ["busy", busy],
      ["lone", lone],
    ] as const) {
      const file = fileState(join(directory, kind));
      contestants.push(await contestant(`file, ${kind}`, load, file));
      contestants.push(await contestant(`memory, ${kind}`, load, memoryState()));
    }
    for (let round = -1; round < options.rounds; round += 1) {
      for (const one of rotated(contestants, Math.max(round, 0))) {
        const us = await measureRound(one, options.messages);
        if (round >= 0) cpu.add(one.name, us);
      }
    }
  } finally {
    for (const one of contestants) await one.close();
    rmSync(directory, { recursive: true, force: true });
  }
  const added = (kind: "busy" | "lone") =>
    cpu.median(`file, ${kind}`) - cpu.median(`memory, ${kind}`);
  const row = (title: string, kind: "busy" | "lone") => [
    title,
    cpu.median(`memory, ${kind}`).toFixed(2),
    cpu.median(`file, ${kind}`).toFixed(2),
    added(kind).toFixed(2),
  ];
  return {
    title: "client-state: one message, its cursor kept in a file",
    note:
      "Processor time of the whole transport, medians of " +
      `${options.rounds} alternating rounds of ${options.messages} messages. Cursors are written ` +
      "once a turn of the event loop, after its messages were handed on.",
    columns: ["µs a message", "state in memory", "in a file", "the file adds"],
    rows: [
      row(`${busy.events} events on each of ${busy.streams} streams in a turn`, "busy"),
      row("one event in a turn", "lone"),
    ],
    bounds: [
      { name: "µs that the file adds, many in a turn", value: added("busy"), max: microsecondsMax },
      { name: "µs that the file adds, one in a turn", value: added("lone"), max: microsecondsMax },
    ],
  };
}

async function measureRound(one: Contestant, messages: number): Promise<number> {
  const turns = Math.ceil(messages / one.perTurn);
  const before = process.cpuUsage();
  for (let turn = 0; turn < turns; turn += 1) await one.feed();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (turns * one.perTurn);
}

interface Contestant {
  readonly name: Name;
  /** Messages. */
  readonly perTurn: number;
  /** One turn: its messages handed on, and their cursors kept. */
  feed(): Promise<void>;
  close(): Promise<void>;
}

async function contestant(name: Name, load: Load, state: ClientState): Promise<Contestant> {
  const perTurn = load.events * load.streams;
  const server = playedServer(load.events);
  const transport = new ResumableClientTransport("http://127.0.0.1:9/mcp", {
    ...{ state, fetch: server.fetch },
  });
  let handedOn = 0;
  transport.onmessage = () => {
    handedOn += 1;
  };
  await transport.start();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} };
  await transport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  for (let id = 1; id <= load.streams; id += 1) {
    await transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work" } });
  }
  const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ name, perTurn },
    feed: async () => {
      const until = handedOn + perTurn;
      server.feed();
      // The first turn hands on; the state is written at its end.
      do await endOfTurn();
      while (handedOn < until);
      await endOfTurn();
    },
    close: () => transport.close(),
  };
}

/** Answers initialize, and leaves every call an open stream. */
function playedServer(events: number): { readonly fetch: FetchLike; feed(): void } {
  const open: ReadableStreamDefaultController<Uint8Array>[] = [];
  let event = 0;
  const encoder = new TextEncoder();
  const fetch: FetchLike = async (_url, init) => {
    const { id, method } = JSON.parse(String(init?.body)) as { id: number; method: string };
    if (method === "initialize") {
      const headers = { "mcp-session-id": "S", "content-type": "application/json" };
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
      return new Response(JSON.stringify({ jsonrpc: "2.0", id, result }), { headers });
    }
    const body = new ReadableStream<Uint8Array>({ start: (stream) => void open.push(stream) });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return {
    fetch,
    feed: () => {
      for (const stream of open) {
        let text = "";
        for (let i = 0; i < events; i += 1) {
          event += 1;
          const params = { level: "info", data: event };
          const message = { jsonrpc: "2.0", method: "notifications/message", params };
          text += `id: ${event}\ndata: ${JSON.stringify(message)}\n\n`;
        }
        stream.enqueue(encoder.encode(text));
      }
    },
  };
}
