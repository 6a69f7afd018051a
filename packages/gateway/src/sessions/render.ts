/**
 * Sessions as text for a terminal: the table, one line for each thing that happens, and the timeline
 * with a lane for each stream. Pure.
 */
import {
  type Bar,
  type FeedItem,
  isCut,
  type Lane,
  lostPhrase,
  oneLine,
  phraseOf,
  type SessionsAnswer,
  type Timeline,
  untold,
} from "@holdfast/dashboard/model";

export function sessionTable({ sessions, isCut }: SessionsAnswer, nowMs: number): string {
  if (sessions.length === 0) return "There are no sessions.\n";
  const head = ["TAG", "STATE", "CALLS", "VIEWPORTS", "AGE", "CLIENT", "PRINCIPAL"];
  const rows = sessions.map((row) => [
    row.tag,
    row.activity,
    String(row.calls),
    String(row.viewports),
    ago(nowMs - row.createdAtMs),
    oneLine(row.client ?? ""),
    oneLine(row.principal),
  ]);
  const more = isCut ? "There are more than can be listed.\n" : "";
  return columns([head, ...rows]) + more;
}

/** A line that says what happened. */
export function itemLine(item: FeedItem): string {
  const who = "tag" in item ? item.tag : "gateway".padEnd(16);
  const words = "tag" in item ? phraseOf(item) : phraseOf(item).replace("gateway ", "");
  return `${clock(item.atMs)}  ${who}  ${words}`;
}

/** The timeline: a header, then three lines for each lane that has something to show. */
export function timelineText(timeline: Timeline, nowMs: number, width: number): string {
  const lanes = [...timeline.lanes.values()]
    .filter((lane) => lane.head > 0 || lane.bars.length > 0 || lane.calls.length > 0)
    .sort((a, b) => a.stream - b.stream);
  const scale = scaleOf(timeline, lanes, nowMs, Math.max(width - labelColumns - 2, 20));
  const state = timeline.ended === undefined ? "live" : `ended: ${timeline.ended}`;
  const client = timeline.client === undefined ? "" : `  ${oneLine(timeline.client)}`;
  const span = `${clock(scale.fromMs)} to ${clock(scale.toMs)}`;
  const shown = lanes.slice(-lanesMax);
  const left = lanes.length - shown.length;
  return [
    `Session ${timeline.tag}  ${state}${client}`,
    `${span}   ${legend}`,
    ...(left > 0 ? [`(${left} older streams are not shown)`] : []),
    ...shown.flatMap((lane) => laneLines(lane, scale)),
    "",
  ].join("\n");
}

const legend = "━ viewport  ✂ cut  ▶ resume  · event  ? request  ● result  ✖ gap";
const labelColumns = 26;
const lanesMax = 40;

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  readonly columns: number;
}

function scaleOf(
  timeline: Timeline,
  lanes: readonly Lane[],
  nowMs: number,
  columns: number,
): Scale {
  const times = lanes.flatMap(({ bars, ticks, calls, gaps }) => [
    ...bars.flatMap(({ fromMs, toMs }) => [fromMs, toMs ?? nowMs]),
    ...[...ticks, ...gaps].map(({ atMs }) => atMs),
    ...calls.map(({ startedAtMs, settledAtMs }) => settledAtMs ?? startedAtMs),
  ]);
  const first = times.reduce((a, b) => Math.min(a, b), timeline.begunAtMs ?? nowMs);
  const last = times.reduce((a, b) => Math.max(a, b), timeline.endedAtMs ?? first);
  return { fromMs: first, toMs: Math.max(last, first + 1), columns };
}

function laneLines(lane: Lane, scale: Scale): readonly string[] {
  const bars = draw(scale, (put) => {
    for (const bar of lane.bars) putBar(put, bar, scale);
  });
  const events = draw(scale, (put) => {
    for (const { atMs, event } of lane.ticks) put(atMs, eventSigns[event]);
    for (const { atMs } of lane.gaps) put(atMs, "✖");
  });
  const label = `${lane.stream}`.padStart(4);
  const facts = factsOf(lane);
  const [call, ...more] = lane.calls.map(({ method, name }) => oneLine(name ?? method));
  const name = lane.stream === 0 ? "standalone" : `${call ?? ""}${more.length > 0 ? " …" : ""}`;
  return [
    `${label} ${fit(name, labelColumns - 6)} ${bars}`,
    `${" ".repeat(5)}${fit(facts, labelColumns - 6)} ${events}`,
  ];
}

function putBar(put: Put, bar: Bar, scale: Scale): void {
  const toMs = bar.toMs ?? scale.toMs;
  put(bar.fromMs, "━", toMs);
  if (bar.isResume) put(bar.fromMs, "▶");
  if (isCut(bar)) put(toMs, "✂");
}

const eventSigns = { notification: "·", request: "?", response: "●" } as const;

function factsOf(lane: Lane): string {
  const outcomes = lane.calls.map(({ outcome }) => (outcome === undefined ? "runs" : outcome));
  const holes = untold(lane).reduce((sum, { from, through }) => sum + through - from + 1, 0);
  const lost = lane.gaps.map(({ lostEvents }) => lostPhrase(lostEvents));
  return [
    `${lane.head} events`,
    ...new Set(outcomes),
    ...(lost.length > 0 ? [`${lost.join(", ")} LOST`] : []),
    ...(holes > 0 ? [`${holes} untimed`] : []),
  ].join(", ");
}

type Put = (fromMs: number, sign: string, toMs?: number) => void;

function draw({ fromMs, toMs, columns }: Scale, fill: (put: Put) => void): string {
  const cells = Array.from({ length: columns }, () => " ");
  const columnOf = (ms: number) => {
    const column = Math.floor(((ms - fromMs) / (toMs - fromMs)) * (columns - 1));
    return Math.min(Math.max(column, 0), columns - 1);
  };
  fill((from, sign, to = from) => {
    for (let column = columnOf(from); column <= columnOf(to); column++) cells[column] = sign;
  });
  return cells.join("").trimEnd();
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join("");
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}

/** Roughly: nobody needs the seconds of a session that is two hours old. */
function ago(ms: number): string {
  const seconds = Math.max(Math.floor(ms / 1000), 0);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

function clock(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}
