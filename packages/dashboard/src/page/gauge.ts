/**
 * The invariant as a picture: on one axis of time, how long clients take to come back, and how far
 * back they are honoured. What lies between is the headroom [C W-06].
 */
import type { OverviewAnswer } from "../model/index.ts";
import { count, h, s, show, span } from "./dom.ts";

const height = 118;
const margin = 16;
const axisY = 74;
const fromMs = 100;
const axisTicksMs = [100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 360_000_000];

export function gauge(): { readonly element: HTMLElement; draw(overview: OverviewAnswer): void } {
  const picture = h("div", { class: "gauge-picture" });
  const sentence = h("p", { class: "gauge-sentence" });
  const element = h(
    "section",
    { class: "panel gauge", "aria-label": "Retention headroom" },
    h("h2", {}, "Can clients come back in time?"),
    sentence,
    picture,
  );
  return {
    element,
    draw: (overview) => {
      const { headroomMs, reconnects, breaches } = overview;
      const isGood = headroomMs > 0;
      element.dataset["state"] = isGood ? "good" : "bad";
      show(
        sentence,
        h("strong", { class: "headroom" }, span(headroomMs)),
        isGood ? " of headroom" : " of headroom: clients come back too late",
        reconnects.count === 0
          ? "; nobody had to come back yet"
          : `; ${count(reconnects.count)} ${reconnects.count === 1 ? "reconnect" : "reconnects"} seen`,
        breaches > 0 && h("span", { class: "warn" }, ` · ${count(breaches)} events evicted early`),
      );
      show(picture, drawAxis(overview, Math.max(picture.clientWidth, 280)));
    },
  };
}

function drawAxis(overview: OverviewAnswer, width: number): SVGSVGElement {
  const { windowMs, horizonMs, headroomMs, reconnects, clientReconnectMs } = overview;
  const toMs = Math.max(windowMs, reconnects.maxMs, clientReconnectMs) * 1.6;
  const x = (ms: number) => {
    const share = Math.log(Math.max(ms, fromMs) / fromMs) / Math.log(toMs / fromMs);
    return Math.round(margin + share * (width - 2 * margin));
  };
  const label = `window ${span(windowMs)}, honoured ${span(horizonMs)}, p50 ${span(reconnects.p50Ms)}, p99 ${span(reconnects.p99Ms)}, max ${span(reconnects.maxMs)}`;
  const picture = s("svg", { width, height, role: "img", "aria-label": label });
  const [left, right] = [x(reconnects.p999Ms), x(horizonMs)];
  picture.append(
    s("rect", {
      class: headroomMs > 0 ? "room" : "room short",
      ...{ x: Math.min(left, right), y: axisY - 26, height: 26, rx: 4 },
      width: Math.max(Math.abs(right - left), 2),
    }),
    s("line", { class: "axis", x1: margin, x2: width - margin, y1: axisY, y2: axisY }),
  );
  for (const ms of axisTicksMs.filter((tick) => tick <= toMs)) {
    picture.append(
      s("line", { class: "axis", x1: x(ms), x2: x(ms), y1: axisY, y2: axisY + 4 }),
      s(
        "text",
        { class: ms === fromMs ? "tick start" : "tick", x: x(ms), y: axisY + 17 },
        span(ms),
      ),
    );
  }
  limit(picture, x(windowMs), "window", "window", 12, width);
  if (horizonMs < windowMs) limit(picture, x(horizonMs), "honoured", "horizon", 28, width);
  limit(picture, x(clientReconnectMs), "declared worst case", "declared", 28, width);
  if (reconnects.count > 0) {
    for (const [name, ms] of [
      ["p50", reconnects.p50Ms],
      ["p99", reconnects.p99Ms],
      ["max", reconnects.maxMs],
    ] as const) {
      picture.append(s("circle", { class: `seen ${name}`, cx: x(ms), cy: axisY, r: 5 }));
    }
    const seen = `seen: p50 ${span(reconnects.p50Ms)} · p99 ${span(reconnects.p99Ms)} · max ${span(reconnects.maxMs)}`;
    picture.append(s("text", { class: "seen-text", x: margin, y: height - 6 }, seen));
  }
  return picture;
}

function limit(
  picture: SVGSVGElement,
  x: number,
  text: string,
  name: string,
  y: number,
  width: number,
): void {
  const isLeft = x > width / 2;
  picture.append(
    s("line", { class: `limit ${name}`, x1: x, x2: x, y1: y - 9, y2: axisY }),
    s("text", { class: `limit-text ${isLeft ? "left" : ""}`, x: isLeft ? x - 5 : x + 5, y }, text),
  );
}
