/** One session: who it is, its timeline, what happened last, and its end after a confirmation. */
import { type FeedItem, type Lane, oneLine, phraseOf, type Timeline } from "../model/index.ts";
import { h, show, time } from "./dom.ts";
import { eventsDialog } from "./events-dialog.ts";
import { axisElement, laneElement, type Scale } from "./lane-view.ts";
import type { Live, Selected } from "./live.ts";

/** Lanes that are drawn; the newest. */
const lanesMax = 60;
const storyLines = 40;
const ranges = { "1 min": 60_000, "10 min": 600_000, all: Number.POSITIVE_INFINITY } as const;
type Range = keyof typeof ranges;

export interface SessionView {
  readonly element: HTMLElement;
  draw(selected: Selected | undefined): void;
}

export function sessionView(live: Live, onBack: () => void): SessionView {
  let range: Range = "all";
  let shown: Selected | undefined;
  const head = h("div", { class: "session-head" });
  const choice = h("div", { class: "chips", role: "group", "aria-label": "Range" });
  const note = h("p", { class: "session-note" });
  const axis = h("div", { class: "lane axis-lane" });
  const lanes = h("div", { class: "lanes" });
  const story = h("ol", { class: "story", "aria-label": "What happened, newest first" });
  const body = h(
    "div",
    { class: "session-body" },
    ...[choice, note, axis, lanes, h("h3", {}, "What happened"), story],
  );
  const empty = h("p", { class: "empty" }, "Choose a session to see its timeline.");
  const element = h("section", { class: "panel session", "aria-label": "Session" }, empty);
  const openEvents = (stream: number) => {
    if (shown !== undefined) eventsDialog(live, shown, stream);
  };
  const drawChoice = () =>
    show(
      choice,
      ...(Object.keys(ranges) as Range[]).map((name) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-pressed": String(range === name),
            onclick: () => {
              range = name;
              drawChoice();
              drawTimeline();
            },
          },
          name,
        ),
      ),
    );
  const drawTimeline = () => {
    const timeline = shown?.timeline;
    if (timeline === undefined) return;
    const scale = scaleOf(timeline, range, lanes.clientWidth);
    const all = lanesOf(timeline, scale);
    const drawn = all.slice(0, lanesMax);
    show(axis, h("div", { class: "lane-label" }), axisElement(scale, timeline.turns));
    show(lanes, ...drawn.map((lane) => laneElement(lane, scale, openEvents)));
    note.textContent = [
      shown?.isHoled === true && "Part of what happened is not known: the history was gone.",
      all.length > drawn.length && `${all.length - drawn.length} older streams are not drawn.`,
    ]
      .filter((text) => text !== false && text !== undefined)
      .join(" ");
  };
  new ResizeObserver(() => drawTimeline()).observe(lanes);
  drawChoice();

  return {
    element,
    draw: (selected) => {
      shown = selected;
      if (selected === undefined) return show(element, empty);
      if (selected.timeline === undefined) {
        const words = selected.problem ?? "Loading…";
        return show(element, backButton(onBack), h("p", { class: "empty" }, words));
      }
      if (body.parentElement === null) show(element, head, body);
      show(head, ...headOf(selected, selected.timeline, onBack, () => confirmEnd(live, selected)));
      drawTimeline();
      show(story, ...selected.story.slice(0, storyLines).map(storyLine));
    },
  };
}

function headOf(
  { answer }: Selected,
  timeline: Timeline,
  onBack: () => void,
  onEnd: () => void,
): readonly HTMLElement[] {
  const { ended, tag, client = "unnamed client" } = timeline;
  const session = answer?.session;
  const facts = [
    oneLine(client),
    session?.principal !== "" && session?.principal,
    session?.version,
    session !== undefined && `since ${time(session.createdAtMs)}`,
  ];
  const state = ended === undefined ? "live" : `ended: ${ended}`;
  return [
    backButton(onBack),
    h(
      "div",
      { class: "session-title" },
      h("h2", {}, tag),
      h("p", {}, facts.filter((fact) => fact !== false && fact !== undefined).join(" · ")),
    ),
    h(
      "span",
      { class: `badge ${ended === undefined ? "runs" : "over"}`, "data-state": state },
      state,
    ),
    h(
      "button",
      { type: "button", class: "danger", disabled: ended !== undefined, onclick: onEnd },
      "End session…",
    ),
  ];
}

function backButton(onBack: () => void): HTMLElement {
  return h(
    "button",
    { type: "button", class: "back", "aria-label": "Back to the list", onclick: onBack },
    "‹",
  );
}

function scaleOf(timeline: Timeline, range: Range, width: number): Scale {
  const nowMs = Date.now();
  const isOver = timeline.endedAtMs !== undefined;
  const lastMs = isOver ? (timeline.endedAtMs ?? nowMs) : nowMs;
  const toMs = lastMs + 1_000;
  const begunMs = Math.min(timeline.begunAtMs ?? nowMs, toMs - 5_000);
  const labelWidth = width < 620 ? 0 : 230;
  return {
    fromMs: Math.max(begunMs, toMs - ranges[range]),
    toMs,
    width: Math.max(width - labelWidth, 200),
  };
}

/** Newest stream first, the standalone one on top; nothing of what was over before the range. */
function lanesOf(timeline: Timeline, { fromMs }: Scale): readonly Lane[] {
  return [...timeline.lanes.values()]
    .filter((lane) => lane.stream === 0 || !isBefore(lane, fromMs))
    .sort((a, b) => Number(b.stream === 0) - Number(a.stream === 0) || b.stream - a.stream);
}

function isBefore({ calls, bars }: Lane, ms: number): boolean {
  const isCallOver = calls.every(
    ({ settledAtMs }) => settledAtMs !== undefined && settledAtMs < ms,
  );
  return (
    calls.length > 0 && isCallOver && bars.every(({ toMs }) => toMs !== undefined && toMs < ms)
  );
}

function storyLine(item: FeedItem): HTMLElement {
  const isBad = item.kind === "gap" || (item.kind === "detached" && item.cause === "disconnected");
  return h(
    "li",
    { class: isBad ? `happened ${item.kind}` : "happened" },
    h("time", {}, time(item.atMs)),
    ` ${phraseOf(item)}`,
  );
}

function confirmEnd(live: Live, { timeline }: Selected): void {
  if (timeline === undefined) return;
  const { tag } = timeline;
  const running = [...timeline.lanes.values()].filter(
    ({ calls }) => calls.some(({ outcome }) => outcome === undefined) && calls.length > 0,
  ).length;
  const problem = h("p", { class: "problem", role: "alert" });
  const close = () => dialog.remove();
  const dialog = h(
    "dialog",
    { class: "confirm", "aria-label": "End session", onclose: close },
    h("h2", {}, "End this session?"),
    h(
      "p",
      {},
      `Its client is told, its id answers 404 from then on, and ${running === 0 ? "nothing that runs is lost" : `the outcome of ${running} running ${running === 1 ? "call" : "calls"} will be unknown`}.`,
    ),
    h("p", { class: "mono" }, tag),
    problem,
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", onclick: close }, "Keep it"),
      h(
        "button",
        {
          type: "button",
          class: "danger",
          onclick: () => {
            live.end(tag).then(close, (error: unknown) => {
              problem.textContent = error instanceof Error ? error.message : String(error);
            });
          },
        },
        "End session",
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
