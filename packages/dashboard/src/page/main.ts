/**
 * The page: one store of what is known, four views that draw it, once for each frame at most.
 *
 * Where one is stands in the address (`#/sessions/TAG`), so that it can be sent to somebody.
 */
import { adminClient } from "../model/index.ts";
import { h, show } from "./dom.ts";
import { listView } from "./list-view.ts";
import { type Connection, Live } from "./live.ts";
import { overviewView } from "./overview-view.ts";
import { sessionView } from "./session-view.ts";

const tokenKey = "holdfast-admin-token";
/** A timeline moves on although nothing happens. */
const redrawEveryMs = 1_000;

const client = adminClient(location.origin, () => sessionStorage.getItem(tokenKey) ?? undefined);
const live = new Live(client, () => scheduleDraw());
const overview = overviewView();
const list = listView(live.roster, (tag) => {
  location.hash = `#/sessions/${tag}`;
});
const session = sessionView(live, () => {
  location.hash = "#/";
});
const status = h("div", { class: "status", role: "status", "aria-live": "polite" });
const page = document.getElementById("page");
if (page !== null) start(page);

function start(place: HTMLElement): void {
  show(
    place,
    h(
      "header",
      {},
      h("h1", {}, "Holdfast"),
      status,
      h("span", { class: "keys" }, "/ search · ↑↓ choose · Enter open · Esc back"),
    ),
    overview.element,
    h("div", { class: "columns" }, list.element, session.element),
  );
  addEventListener("hashchange", () => void live.select(selectedName()));
  addEventListener("keydown", onKey);
  setInterval(scheduleDraw, redrawEveryMs);
  void live.select(selectedName());
  void live.run();
}

function selectedName(): string | undefined {
  const name = /^#\/sessions\/(.+)$/.exec(location.hash)?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
}

let isScheduled = false;

function scheduleDraw(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    draw();
  });
}

function draw(): void {
  const { connection, selected } = live;
  document.body.dataset["connection"] = connection;
  document.body.classList.toggle("with-session", selected !== undefined);
  drawStatus(connection);
  if (live.overview !== undefined) overview.draw(live.overview);
  list.draw(selected?.timeline?.tag ?? selected?.name);
  session.draw(selected);
}

let drawnStatus = "";

function drawStatus(connection: Connection): void {
  const facts = live.overview;
  const isRed = facts !== undefined && !facts.isReady;
  const words = {
    loading: "connecting…",
    live: isRed ? (facts.isDraining ? "draining" : "the event log does not answer") : "live",
    waiting: "the gateway is away; this page goes on when it is back",
    token: "a token is needed",
  }[connection];
  const state = connection === "live" && isRed ? "red" : connection;
  if (drawnStatus === `${state} ${words}`) return;
  drawnStatus = `${state} ${words}`;
  show(
    status,
    h("span", { class: `light ${state}` }),
    words,
    connection === "token" && tokenForm(),
  );
}

function tokenForm(): HTMLElement {
  const input = h("input", { type: "password", "aria-label": "Admin token", autocomplete: "off" });
  return h(
    "form",
    {
      class: "token",
      onsubmit: (event) => {
        event.preventDefault();
        // For this tab alone, and gone with it.
        sessionStorage.setItem(tokenKey, input.value.trim());
        live.retry();
      },
    },
    input,
    h("button", { type: "submit" }, "Use"),
  );
}

function onKey(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLInputElement;
  const hasDialog = document.querySelector("dialog[open]") !== null;
  if (hasDialog || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    list.focusSearch();
  } else if (event.key === "Escape") {
    if (isTyping) (event.target as HTMLInputElement).blur();
    else location.hash = "#/";
  }
}
