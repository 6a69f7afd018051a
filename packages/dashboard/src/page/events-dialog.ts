/** The retained events of one stream; their text only where the gateway gives it. */
import { h, show, time } from "./dom.ts";
import type { Live, Selected } from "./live.ts";

export function eventsDialog(live: Live, { timeline }: Selected, stream: number): void {
  if (timeline === undefined) return;
  const lane = timeline.lanes.get(stream);
  const list = h("ol", { class: "events" });
  const more = h("button", { type: "button" }, "More");
  const facts = h("p", { class: "empty" }, "Loading…");
  const dialog: HTMLDialogElement = h(
    "dialog",
    { class: "events-dialog", "aria-label": "Events", onclose: () => dialog.remove() },
    h("h2", {}, stream === 0 ? "Standalone stream" : `Stream ${stream}`),
    facts,
    list,
    h(
      "div",
      { class: "buttons" },
      more,
      h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  const timeOf = (position: number) =>
    lane?.ticks.find((tick) => tick.position <= position && position <= tick.through)?.atMs;
  let after = 0;
  const load = async () => {
    more.disabled = true;
    const { events } = await live.events(timeline.tag, stream, after);
    const hidden =
      live.overview?.showsBodies === true ? "" : " Messages are hidden (--show-bodies).";
    const gone =
      (lane?.evictedThrough ?? 0) > 0 ? ` Events up to ${lane?.evictedThrough} are gone.` : "";
    show(facts, `${lane?.head ?? 0} events.${gone}${hidden}`);
    for (const { position, kind, bytes, text } of events) {
      const atMs = timeOf(position);
      list.append(
        h(
          "li",
          {},
          h("span", { class: "mono" }, `${position}`),
          h("span", {}, `${kind}, ${bytes} bytes`),
          h("time", {}, atMs === undefined ? "untimed" : time(atMs)),
          text !== undefined && h("pre", {}, text),
        ),
      );
      after = position;
    }
    more.disabled = false;
    more.hidden = events.length === 0 || after >= (lane?.head ?? 0);
  };
  const fail = (error: unknown) =>
    show(facts, error instanceof Error ? error.message : "It failed.");
  more.addEventListener("click", () => void load().catch(fail));
  document.body.append(dialog);
  dialog.showModal();
  void load().catch(fail);
}
