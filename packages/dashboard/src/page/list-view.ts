/**
 * The list of sessions: searched, filtered, walked by keyboard. Only what can be seen is in the
 * document, so that ten thousand are as quick as ten.
 */
import type { SessionRow } from "../model/index.ts";
import { count, h, show, span } from "./dom.ts";
import type { Filter, Roster } from "./roster.ts";

const rowHeight = 46;
/** Rows beyond the edges that are there already when they are scrolled to. */
const spareRows = 6;

const filters: readonly Filter[] = ["all", "active", "attached", "idle", "resting", "ended"];

export interface ListView {
  readonly element: HTMLElement;
  draw(selected: string | undefined): void;
  focusSearch(): void;
}

/** @param onSelect - told of the tag of the session that is to be looked at */
export function listView(roster: Roster, onSelect: (tag: string) => void): ListView {
  let filter: Filter = "all";
  let rows: readonly SessionRow[] = [];
  let version = -1;
  let selected: string | undefined;
  let active = 0;

  const search = h("input", {
    type: "search",
    placeholder: "Search tag, client, principal",
    "aria-label": "Search sessions",
    spellcheck: "false",
    oninput: () => refresh(),
    onkeydown: (event) => onKey(event as KeyboardEvent),
  });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "State" });
  const canvas = h("div", { class: "rows" });
  const viewport = h(
    "div",
    {
      class: "rows-viewport",
      tabindex: "0",
      role: "listbox",
      "aria-label": "Sessions",
      onscroll: () => drawRows(),
      onkeydown: (event) => onKey(event as KeyboardEvent),
    },
    canvas,
  );
  const foot = h("p", { class: "list-foot" });
  const element = h("section", { class: "panel list" }, search, chips, viewport, foot);
  new ResizeObserver(() => drawRows()).observe(viewport);

  const find = () => {
    rows = roster.find(search.value, filter);
    version = roster.version;
    active = Math.min(active, Math.max(rows.length - 1, 0));
    drawChips();
  };
  const refresh = () => {
    find();
    viewport.scrollTop = 0;
    drawRows();
  };
  const drawChips = () => {
    const counts = roster.counts();
    show(
      chips,
      ...filters.map((name) =>
        h(
          "button",
          {
            type: "button",
            class: `chip ${name}`,
            "aria-pressed": String(filter === name),
            onclick: () => {
              filter = name;
              refresh();
            },
          },
          name,
          h("span", { class: "chip-count" }, count(counts.get(name) ?? 0)),
        ),
      ),
    );
  };
  const drawRows = () => {
    canvas.style.height = `${rows.length * rowHeight}px`;
    const first = Math.max(Math.floor(viewport.scrollTop / rowHeight) - spareRows, 0);
    const visible = Math.ceil(viewport.clientHeight / rowHeight) + 2 * spareRows;
    const shown = rows.slice(first, first + visible);
    show(
      canvas,
      ...shown.map((row, index) => {
        const element = rowElement(row, row.tag === selected, first + index === active, onSelect);
        element.style.transform = `translateY(${(first + index) * rowHeight}px)`;
        return element;
      }),
    );
    foot.textContent =
      rows.length === roster.size
        ? `${count(rows.length)} sessions`
        : `${count(rows.length)} of ${count(roster.size)} sessions`;
  };
  const move = (to: number) => {
    active = Math.min(Math.max(to, 0), Math.max(rows.length - 1, 0));
    const top = active * rowHeight;
    const bottom = top + rowHeight - viewport.clientHeight;
    if (viewport.scrollTop > top) viewport.scrollTop = top;
    else if (viewport.scrollTop < bottom) viewport.scrollTop = bottom;
    drawRows();
  };
  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(Math.floor(viewport.clientHeight / rowHeight) - 1, 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
    };
    const to = steps[event.key];
    const chosen = event.key === "Enter" ? rows[active] : undefined;
    if (to !== undefined) move(to);
    else if (chosen !== undefined) onSelect(chosen.tag);
    else return;
    event.preventDefault();
  };

  return {
    element,
    focusSearch: () => search.focus(),
    draw: (now) => {
      if (now === selected && version === roster.version) return;
      selected = now;
      if (version !== roster.version) find();
      drawRows();
    },
  };
}

function rowElement(
  row: SessionRow,
  isSelected: boolean,
  isActive: boolean,
  onSelect: (tag: string) => void,
): HTMLElement {
  const {
    tag,
    activity,
    calls,
    viewports,
    client = "unnamed client",
    principal,
    createdAtMs,
  } = row;
  const who = principal === "" ? client : `${client} · ${principal}`;
  const doing = [
    calls > 0 && `${calls} ${calls === 1 ? "call" : "calls"}`,
    viewports > 0 && `${viewports} open`,
  ].filter((text) => text !== false);
  return h(
    "div",
    {
      class: `row ${isActive ? "active" : ""}`,
      role: "option",
      "aria-selected": String(isSelected),
      "data-tag": tag,
      onclick: () => onSelect(tag),
    },
    h("span", { class: `dot ${activity}`, title: activity }),
    h("span", { class: "row-tag" }, tag),
    h("span", { class: "row-doing" }, doing.join(", ") || activity),
    h("span", { class: "row-who" }, who),
    h("span", { class: "row-age" }, span(Math.max(Date.now() - createdAtMs, 0))),
  );
}
