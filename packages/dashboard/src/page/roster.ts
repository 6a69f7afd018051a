/** The sessions that there are, by tag, and how each item of the feed changes them. No drawing. */
import type { FeedItem, SessionActivity, SessionRow } from "../model/index.ts";

export type Filter = "all" | SessionActivity;

type MutableRow = { -readonly [Key in keyof SessionRow]: SessionRow[Key] };

export class Roster {
  #rows = new Map<string, MutableRow>();
  /** Changes with every change of order or membership. */
  version = 0;

  get size(): number {
    return this.#rows.size;
  }

  replace(rows: readonly SessionRow[]): void {
    this.#rows = new Map(rows.map((row) => [row.tag, { ...row }]));
    this.version++;
  }

  get(tag: string): SessionRow | undefined {
    return this.#rows.get(tag);
  }

  /** How many there are of each activity. */
  counts(): ReadonlyMap<Filter, number> {
    const counts = new Map<Filter, number>([["all", this.#rows.size]]);
    for (const { activity } of this.#rows.values()) {
      counts.set(activity, (counts.get(activity) ?? 0) + 1);
    }
    return counts;
  }

  /** Newest first. @param search - a part of tag, client or principal, whatever its case */
  find(search: string, filter: Filter): readonly SessionRow[] {
    const wanted = search.trim().toLowerCase();
    const found: SessionRow[] = [];
    for (const row of this.#rows.values()) {
      if (filter !== "all" && row.activity !== filter) continue;
      const text = `${row.tag} ${row.client ?? ""} ${row.principal}`.toLowerCase();
      if (text.includes(wanted)) found.push(row);
    }
    return found.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.tag < b.tag ? -1 : 1));
  }

  take(item: FeedItem): void {
    if (!("tag" in item)) {
      if (item.kind === "started") this.#afterStart();
      return;
    }
    const row = this.#rows.get(item.tag) ?? this.#begin(item.tag, item.atMs);
    switch (item.kind) {
      case "begun":
        if (item.client !== undefined) row.client = item.client;
        break;
      case "opened":
        row.calls += item.calls.length;
        break;
      case "settled":
        row.calls = Math.max(row.calls - 1, 0);
        break;
      case "attached":
        row.viewports += 1;
        break;
      case "detached":
        row.viewports = Math.max(row.viewports - 1, 0);
        break;
      case "ended":
        Object.assign(row, { activity: "ended", calls: 0, viewports: 0 });
        this.version++;
        return;
    }
    row.activity = activityOf(row);
    this.version++;
  }

  #begin(tag: string, createdAtMs: number): MutableRow {
    const row = { tag, createdAtMs, principal: "", activity: "idle", calls: 0, viewports: 0 };
    this.#rows.set(tag, row as MutableRow);
    return row as MutableRow;
  }

  /** Another process: it shows nothing yet, and runs nothing. */
  #afterStart(): void {
    for (const row of this.#rows.values()) {
      if (row.activity === "ended") continue;
      Object.assign(row, { activity: "resting", calls: 0, viewports: 0 });
    }
    this.version++;
  }
}

function activityOf({ activity, calls, viewports }: SessionRow): SessionActivity {
  if (activity === "ended") return "ended";
  if (calls > 0) return "active";
  return viewports > 0 ? "attached" : "idle";
}
