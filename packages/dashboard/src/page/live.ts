/**
 * What the page knows, kept up to date: a snapshot, then the feed from the snapshot's cursor on.
 *
 *     loading ──▶ live ⇄ waiting (the gateway is away; the cursor is kept)
 *        ▲          └──cursor no longer honoured──▶ loading, and the hole is told
 *        └── asking for a token
 */
import { parseEventId } from "@holdfast/contract";
import {
  type AdminClient,
  AdminError,
  type FeedItem,
  type OverviewAnswer,
  type SessionAnswer,
  type Timeline,
  takeFacts,
  takeItem,
  timelineOf,
} from "../model/index.ts";
import { Roster } from "./roster.ts";

export type Connection = "loading" | "live" | "waiting" | "token";

/** The session that is looked at. */
export interface Selected {
  readonly name: string;
  answer: SessionAnswer | undefined;
  timeline: Timeline | undefined;
  /** Newest first; the oldest go. */
  readonly story: FeedItem[];
  /** Part of what happened is not known. */
  isHoled: boolean;
  problem: string | undefined;
}

const overviewEveryMs = 2_000;
/** Counts drift when a snapshot and the feed overlap: they are taken anew now and then. */
const rosterEveryMs = 20_000;
const storyMax = 200;
/** Batches that wait for a snapshot of the selected session. */
const heldMax = 1_000;
const retryMs = 1_000;

interface HeldBatch {
  readonly items: readonly FeedItem[];
  readonly position: number;
}

export class Live {
  readonly roster = new Roster();
  connection: Connection = "loading";
  overview: OverviewAnswer | undefined;
  selected: Selected | undefined;
  readonly #client: AdminClient;
  readonly #onChange: () => void;
  #held: HeldBatch[] | undefined;
  #wake: () => void = () => {};

  /** @param onChange - called for every change; whoever draws waits for the next frame */
  constructor(client: AdminClient, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  /** Never returns. */
  async run(): Promise<never> {
    setInterval(() => void this.#refreshOverview(), overviewEveryMs);
    setInterval(() => void this.#refreshRoster(), rosterEveryMs);
    for (;;) await this.#round();
  }

  /** A token was given. */
  retry(): void {
    this.#wake();
  }

  async select(name: string | undefined): Promise<void> {
    if (name === this.selected?.name) return;
    this.selected =
      name === undefined
        ? undefined
        : {
            ...{ name, answer: undefined, timeline: undefined, story: [] },
            ...{ isHoled: false, problem: undefined },
          };
    this.#onChange();
    await this.#loadSelected();
  }

  end(name: string): Promise<void> {
    return this.#client.end(name);
  }

  events(name: string, stream: number, after: number) {
    return this.#client.events(name, stream, after);
  }

  async #round(): Promise<void> {
    try {
      const { sessions, cursor } = await this.#client.sessions();
      this.roster.replace(sessions);
      await Promise.all([this.#refreshOverview(), this.#loadSelected()]);
      const ended = await this.#client.follow({
        cursor,
        signal: new AbortController().signal,
        onItems: (items, eventId) => this.#take(items, eventId),
        onState: (state) => this.#be(state),
      });
      if (ended.kind === "unauthorized") throw new AdminError(401, "");
      if (ended.kind === "lost" && this.selected !== undefined) this.selected.isHoled = true;
    } catch (error) {
      const isRefused = error instanceof AdminError && error.status === 401;
      this.#be(isRefused ? "token" : "waiting");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (!isRefused) setTimeout(resolve, retryMs);
      });
    }
  }

  #be(connection: Connection): void {
    this.connection = connection;
    this.#onChange();
  }

  async #refreshOverview(): Promise<void> {
    if (document.hidden || this.connection === "token") return;
    try {
      this.overview = await this.#client.overview();
      this.#onChange();
    } catch {
      // The feed tells that the gateway is away.
    }
  }

  async #refreshRoster(): Promise<void> {
    if (document.hidden || this.connection !== "live") return;
    try {
      this.roster.replace((await this.#client.sessions()).sessions);
      this.#onChange();
    } catch {
      // As above.
    }
  }

  async #loadSelected(): Promise<void> {
    const { selected } = this;
    if (selected === undefined) return;
    this.#held = [];
    try {
      const answer = await this.#client.session(selected.name);
      if (this.selected !== selected) return;
      selected.answer = answer;
      selected.timeline = timelineOf(answer);
      selected.story.splice(0, selected.story.length, ...answer.history.toReversed());
      selected.problem = undefined;
      const from = positionOf(answer.cursor);
      for (const { items, position } of this.#held ?? []) {
        if (position > from) this.#takeSelected(items);
      }
    } catch (error) {
      selected.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.#held = undefined;
      this.#onChange();
    }
  }

  #take(items: readonly FeedItem[], eventId: string): void {
    for (const item of items) this.roster.take(item);
    const position = positionOf(eventId);
    if (this.#held !== undefined && this.#held.length < heldMax) {
      this.#held.push({ items, position });
    } else if (position > positionOf(this.selected?.answer?.cursor ?? "")) {
      this.#takeSelected(items);
    }
    if (items.some(({ kind }) => kind === "started")) void this.#afterRestart();
    this.#onChange();
  }

  #takeSelected(items: readonly FeedItem[]): void {
    const { selected } = this;
    if (selected?.timeline === undefined) return;
    for (const item of items) {
      if ("tag" in item && item.tag !== selected.timeline.tag) continue;
      takeItem(selected.timeline, item);
      selected.story.unshift(item);
    }
    selected.story.splice(storyMax);
  }

  /** What a process that died did not tell any more, the session itself tells. */
  async #afterRestart(): Promise<void> {
    void this.#refreshRoster();
    void this.#refreshOverview();
    const { selected } = this;
    if (selected?.timeline === undefined) return;
    try {
      const answer = await this.#client.session(selected.name);
      takeFacts(selected.timeline, answer.session.streams);
      this.#onChange();
    } catch {
      // It is shown as it was; the next restart or selection asks again.
    }
  }
}

function positionOf(eventId: string): number {
  return parseEventId(eventId)?.position ?? 0;
}
