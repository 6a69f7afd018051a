/** One lane of a timeline: its label, its viewports as bars, its events as ticks, its gaps in red. */
import {
  type Bar,
  isCut,
  type Lane,
  lostPhrase,
  oneLine,
  type Tick,
  untold,
} from "../model/index.ts";
import { h, s, span, time } from "./dom.ts";

/** What part of time is shown, and on how many pixels. */
export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  readonly width: number;
}

const laneHeight = 46;
const barY = 8;
const barHeight = 10;
const tickY = 24;
const tickHeight = 14;

export function laneElement(lane: Lane, scale: Scale, onOpen: (stream: number) => void): Element {
  const outcome = outcomeOf(lane);
  const cuts = lane.bars.filter(isCut).length;
  return h(
    "div",
    {
      class: "lane",
      role: "button",
      tabindex: "0",
      "data-stream": lane.stream,
      "data-outcome": outcome,
      "data-cuts": cuts,
      "data-resumes": lane.bars.filter(({ isResume }) => isResume).length,
      "data-gaps": lane.gaps.length,
      "data-head": lane.head,
      "aria-label": `stream ${lane.stream}, ${nameOf(lane)}, ${factsOf(lane)}`,
      onclick: () => onOpen(lane.stream),
      onkeydown: (event) => {
        if ((event as KeyboardEvent).key === "Enter") onOpen(lane.stream);
      },
    },
    h(
      "div",
      { class: "lane-label" },
      h("span", { class: "lane-name" }, nameOf(lane)),
      h("span", { class: "lane-facts" }, factsOf(lane)),
      outcome !== "" && h("span", { class: `badge ${outcome}` }, badgeText(lane)),
    ),
    drawing(lane, scale),
  );
}

function nameOf({ stream, calls }: Lane): string {
  if (stream === 0) return "standalone";
  const [call] = calls;
  const more = calls.length > 1 ? ` +${calls.length - 1}` : "";
  return `${stream} · ${oneLine(call?.name ?? call?.method ?? "call")}${more}`;
}

function factsOf(lane: Lane): string {
  const holes = untold(lane).reduce((sum, { from, through }) => sum + through - from + 1, 0);
  const [first] = lane.calls;
  const isOver = first?.settledAtMs !== undefined;
  return [
    ...lane.gaps.map(({ lostEvents }) => `${lostPhrase(lostEvents)} lost`),
    `${lane.head} ${lane.head === 1 ? "event" : "events"}`,
    isOver && `took ${span(Math.max((first.settledAtMs ?? 0) - first.startedAtMs, 0))}`,
    holes > 0 && `${holes} untimed`,
  ]
    .filter((fact) => fact !== false)
    .join(" · ");
}

/** `runs`, `answered`, `cancelled` or `unknown`; empty for the standalone stream. */
function outcomeOf({ calls }: Lane): string {
  if (calls.length === 0) return "";
  if (calls.some(({ outcome }) => outcome === undefined)) return "runs";
  const odd = calls.find(({ outcome }) => outcome !== "answered");
  if (odd === undefined) return "answered";
  return odd.outcome === "cancelled" ? "cancelled" : "unknown";
}

function badgeText(lane: Lane): string {
  const odd = lane.calls.find(({ outcome }) => outcome !== "answered");
  return odd === undefined ? "answered" : (odd.outcome ?? "runs");
}

function drawing(lane: Lane, scale: Scale): SVGSVGElement {
  const { width } = scale;
  const picture = s("svg", { class: "lane-picture", width, height: laneHeight });
  for (const call of lane.calls) {
    const toMs = call.settledAtMs ?? (call.outcome === undefined ? scale.toMs : call.startedAtMs);
    const [left, right] = extent(call.startedAtMs, toMs, scale);
    picture.append(
      s("rect", {
        class: `call ${call.outcome === undefined ? "runs" : ""}`,
        ...{ x: left, y: 2, width: Math.max(right - left, 2), height: laneHeight - 4, rx: 3 },
      }),
    );
  }
  for (const bar of lane.bars) picture.append(...barShapes(bar, scale));
  for (const kind of ["notification", "request", "response"] as const) {
    picture.append(tickPath(lane.ticks, kind, scale));
  }
  for (const gap of lane.gaps) {
    const at = x(gap.atMs, scale);
    const label = `${lostPhrase(gap.lostEvents)} lost after event ${gap.from}`;
    picture.append(
      s(
        "g",
        { class: "gap" },
        s("title", {}, `${time(gap.atMs)} ${label}`),
        s("rect", { x: at - 2, y: 0, width: 4, height: laneHeight }),
        s("path", { d: `M${at - 5} ${laneHeight - 12}l10 10m0-10l-10 10` }),
      ),
    );
  }
  return picture;
}

function barShapes(bar: Bar, scale: Scale): readonly SVGElement[] {
  const { fromMs, toMs = scale.toMs, cause } = bar;
  const [left, right] = extent(fromMs, toMs, scale);
  const how = cause === undefined ? "open" : cause;
  const words = cause === undefined ? "open" : cause === "process-ended" ? "gateway ended" : cause;
  const shapes: SVGElement[] = [
    s(
      "rect",
      {
        class: `bar ${isCut(bar) ? "cut" : how}`,
        ...{ x: left, y: barY, width: Math.max(right - left, 2), height: barHeight, rx: 2 },
      },
      s(
        "title",
        {},
        `viewport after event ${bar.after}: ${words}, ${time(fromMs)} – ${time(toMs)}`,
      ),
    ),
  ];
  if (bar.isResume) {
    const d = `M${left} ${barY - 2}l7 ${barHeight / 2 + 2}l-7 ${barHeight / 2 + 2}z`;
    shapes.push(s("path", { class: "resume-mark", d }, s("title", {}, "resumed")));
  }
  if (isCut(bar)) {
    const d = `M${right - 4} ${barY - 3}l8 ${barHeight + 6}m0-${barHeight + 6}l-8 ${barHeight + 6}`;
    shapes.push(s("path", { class: "cut-mark", d }, s("title", {}, `cut: ${words}`)));
  }
  return shapes;
}

/** All ticks of a kind as one path; those of one pixel are one. */
function tickPath(ticks: readonly Tick[], kind: Tick["event"], scale: Scale): SVGElement {
  const columns = new Set<number>();
  for (const { atMs, event } of ticks) {
    if (event === kind && atMs >= scale.fromMs) columns.add(x(atMs, scale));
  }
  const size = kind === "response" ? tickHeight + 3 : tickHeight;
  const d = [...columns].map((column) => `M${column} ${tickY}v${size}`).join("");
  return s("path", { class: `tick-mark ${kind}`, d });
}

/** The axis above the lanes, with starts and ends of the gateway. */
export function axisElement(
  scale: Scale,
  turns: readonly { readonly atMs: number; readonly kind: string }[],
): SVGSVGElement {
  const picture = s("svg", { class: "axis-picture", width: scale.width, height: 22 });
  const stepsMax = Math.max(Math.floor(scale.width / 110), 1);
  for (let step = 0; step <= stepsMax; step++) {
    const atMs = scale.fromMs + ((scale.toMs - scale.fromMs) * step) / stepsMax;
    const anchor = step === 0 ? "start" : step === stepsMax ? "end" : "middle";
    picture.append(s("text", { class: `tick ${anchor}`, x: x(atMs, scale), y: 14 }, time(atMs)));
  }
  for (const { atMs, kind } of turns.filter((turn) => turn.atMs >= scale.fromMs)) {
    const at = x(atMs, scale);
    picture.append(
      s(
        "g",
        { class: `turn ${kind}`, "data-turn": kind },
        s(
          "title",
          {},
          `${time(atMs)} ${kind === "adopted" ? "adopted by this node" : `gateway ${kind}`}`,
        ),
        s("path", { d: `M${at} 22l-4 -6h8z` }),
      ),
    );
  }
  return picture;
}

function extent(fromMs: number, toMs: number, scale: Scale): readonly [number, number] {
  return [x(fromMs, scale), x(toMs, scale)];
}

function x(ms: number, { fromMs, toMs, width }: Scale): number {
  const share = (ms - fromMs) / Math.max(toMs - fromMs, 1);
  return Math.round(Math.min(Math.max(share, 0), 1) * (width - 12)) + 6;
}
