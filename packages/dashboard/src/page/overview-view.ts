/** The numbers of the gateway, the gauge, and what passes per second. */
import uPlot from "uplot";
import type { OverviewAnswer } from "../model/index.ts";
import { count, h, show, span, time } from "./dom.ts";
import { gauge } from "./gauge.ts";

/** Points of the plot: at one for each answer, some minutes. */
const pointsMax = 150;
const plotHeight = 132;

export interface OverviewView {
  readonly element: HTMLElement;
  draw(overview: OverviewAnswer): void;
}

export function overviewView(): OverviewView {
  const cards = h("div", { class: "cards" });
  const meter = gauge();
  const rates = ratePlot();
  const element = h("div", { class: "overview" }, cards, meter.element, rates.element);
  let last: OverviewAnswer | undefined;
  return {
    element,
    draw: (overview) => {
      if (overview === last) return;
      last = overview;
      show(cards, ...cardsOf(overview));
      meter.draw(overview);
      rates.add(overview);
    },
  };
}

function cardsOf(overview: OverviewAnswer): readonly HTMLElement[] {
  const { sessions, viewports, callsInFlight, resumes, unknownOutcomes, logErrors } = overview;
  const of = (outcome: string) => resumes[outcome] ?? 0;
  const gaps = of("gap") + of("inband");
  return [
    card("sessions", sessions === null ? "?" : count(sessions)),
    card("viewports", count(viewports)),
    card("calls in flight", count(callsInFlight)),
    card("resumes", count(of("clean") + of("complete"))),
    card("gaps told", count(gaps), gaps > 0),
    card("unknown outcomes", count(unknownOutcomes), unknownOutcomes > 0),
    card("store errors", count(logErrors), logErrors > 0),
  ];
}

function card(name: string, value: string, isWarning = false): HTMLElement {
  return h(
    "div",
    { class: isWarning ? "card warned" : "card", "data-card": name },
    h("span", { class: "value" }, value),
    h("span", { class: "name" }, name),
  );
}

function ratePlot() {
  const place = h("div", { class: "plot" });
  const facts = h("p", { class: "plot-facts" });
  const element = h(
    "section",
    { class: "panel rates", "aria-label": "Events per second" },
    h("h2", {}, "Events per second"),
    facts,
    place,
  );
  const times: number[] = [];
  const appended: number[] = [];
  const replayed: number[] = [];
  let plot: uPlot | undefined;
  let last: OverviewAnswer | undefined;
  const resize = () => plot?.setSize({ width: place.clientWidth, height: plotHeight });
  new ResizeObserver(resize).observe(place);
  return {
    element,
    add: (overview: OverviewAnswer) => {
      const { nowMs, eventsAppended, eventsReplayed, startedAtMs } = overview;
      const seconds = last === undefined ? 0 : (nowMs - last.nowMs) / 1_000;
      // Another process counts from zero again.
      const isSame = last?.startedAtMs === startedAtMs && seconds > 0;
      const rate = (now: number, before: number) => (isSame ? (now - before) / seconds : 0);
      times.push(nowMs / 1_000);
      appended.push(rate(eventsAppended, last?.eventsAppended ?? 0));
      replayed.push(rate(eventsReplayed, last?.eventsReplayed ?? 0));
      for (const series of [times, appended, replayed]) series.splice(0, series.length - pointsMax);
      last = overview;
      const uptime = span(Math.max(nowMs - startedAtMs, 0));
      show(
        facts,
        `${count(eventsAppended)} appended, ${count(eventsReplayed)} replayed in ${uptime}`,
      );
      // One point has no scale.
      if (times.length < 2) return;
      plot ??= createPlot(place);
      plot.setData([times, appended, replayed]);
    },
  };
}

function createPlot(place: HTMLElement): uPlot {
  const color = (name: string) => getComputedStyle(place).getPropertyValue(name).trim();
  const axis = {
    stroke: () => color("--faint"),
    grid: { stroke: () => color("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui",
  };
  return new uPlot(
    {
      width: place.clientWidth,
      height: plotHeight,
      cursor: { show: false },
      legend: { show: false },
      scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.15, 5)] } },
      axes: [
        { ...axis, space: 90, values: (_plot, splits) => splits.map((at) => time(at * 1_000)) },
        { ...axis, size: 42 },
      ],
      series: [
        {},
        { stroke: () => color("--accent"), fill: () => color("--accent-soft"), width: 1.6 },
        { stroke: () => color("--resume"), width: 1.6, dash: [4, 3] },
      ],
    },
    [[], [], []],
    place,
  );
}
