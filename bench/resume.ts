/**
 * What a resume of 100 events costs, by how much else is in the log: 10^3 events and 10^6, spread
 * over many sessions and in a single one.
 */
import { type HttpLane, openLane, requestText } from "./http-lane.ts";
import { type MeasuredProcess, startMeasured } from "./measured-process.ts";
import type { Report } from "./report.ts";
import { type ResumePoint, streamEvents } from "./servers/filled-log.ts";
import { protocolVersion } from "./servers/tool.ts";
import { createSamples, median, rotated } from "./statistics.ts";

const layouts = [
  { name: "few, spread", events: 1e3, sessions: 10 },
  { name: "many, spread", events: 1e6, sessions: 1e4 },
  { name: "few, one session", events: 1e3, sessions: 1 },
  { name: "many, one session", events: 1e6, sessions: 1 },
] as const;

type Name = (typeof layouts)[number]["name"];

const pairs = [
  { title: "spread over sessions", few: "few, spread", many: "many, spread" },
  { title: "in one session", few: "few, one session", many: "many, one session" },
] as const;

const warmUpRounds = 2;

export interface ResumeOptions {
  readonly rounds: number;
  /** In each round, of each log. */
  readonly resumes: number;
}

interface Running {
  readonly name: Name;
  readonly server: MeasuredProcess;
  readonly lane: HttpLane;
  readonly points: readonly ResumePoint[];
}

export async function measureResume(options: ResumeOptions): Promise<Report> {
  const cpu = createSamples<Name>();
  const wall = createSamples<Name>();
  const running: Running[] = [];
  try {
    for (const { name, events, sessions } of layouts) {
      const args = [String(events / streamEvents), String(sessions)];
      const server = await startMeasured("filled-log", { args });
      const points = server.facts as readonly ResumePoint[];
      running.push({ name, server, points, lane: await openLane(server.port) });
    }
    for (let round = -warmUpRounds; round < options.rounds; round += 1) {
      for (const one of rotated(running, Math.max(round, 0))) {
        const { cpuUs, wallUs } = await measureRound(one, round + warmUpRounds, options.resumes);
        if (round < 0) continue;
        cpu.add(one.name, cpuUs);
        wall.add(one.name, wallUs);
      }
    }
  } finally {
    for (const { lane } of running) lane.close();
    await Promise.all(running.map(({ server }) => server.stop()));
  }
  return {
    title: `resume: ${streamEvents} events, by what else the log holds`,
    note:
      `One resume at a time, each of another stream; medians of ${options.rounds} alternating ` +
      `rounds of ${options.resumes}. Processor time of the server's own process, and time until ` +
      "the last byte has come.",
    columns: ["events in the log", "sessions", "µs, server", "µs, wall"],
    rows: layouts.map(({ name, events, sessions }) => [
      `10^${Math.log10(events)}`,
      String(sessions),
      cpu.median(name).toFixed(0),
      wall.median(name).toFixed(0),
    ]),
    bounds: pairs.map(({ title, few, many }) => ({
      name: `10^6 ÷ 10^3 events, ${title}`,
      value: cpu.ratio(many, few),
      max: 1.5,
    })),
  };
}

async function measureRound(
  { server, lane, points }: Running,
  round: number,
  resumes: number,
): Promise<{ readonly cpuUs: number; readonly wallUs: number }> {
  const walls: number[] = [];
  const beforeUs = await server.cpuUs();
  for (let i = 0; i < resumes; i += 1) {
    // A stride that shares no factor with the number of points: all over the log, again and again.
    const point = points[((round * resumes + i) * stride) % points.length];
    if (point === undefined) throw new RangeError("the log holds no stream");
    const startedMs = performance.now();
    await resume(lane, point);
    walls.push((performance.now() - startedMs) * 1000);
  }
  const cpuUs = ((await server.cpuUs()) - beforeUs) / resumes;
  return { cpuUs, wallUs: median(walls) };
}

const stride = 7919;

async function resume(lane: HttpLane, { session, cursor }: ResumePoint): Promise<void> {
  const headers = {
    accept: "text/event-stream",
    "mcp-session-id": session,
    "mcp-protocol-version": protocolVersion,
    "last-event-id": cursor,
  };
  const { status, body } = await lane.exchange(requestText({ method: "GET", headers }));
  const shown = body.split("\ndata: {").length - 1;
  if (status === 200 && shown === streamEvents) return;
  throw new Error(`resume: status ${status}, ${shown} events`);
}
