/**
 * What the tools of the demo did, one line each in a file: `charge MARK` for a charge that was made,
 * `entry MARK` for an entry that was sent. A mark is random, so no two are taken for one.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export type DeedKind = "charge" | "entry";

/** Enter a deed. @returns its mark */
export function enterDeed(path: string, kind: DeedKind): string {
  const mark = randomUUID();
  appendFileSync(path, `${kind} ${mark}\n`);
  return mark;
}

/** Marks of what was done, oldest first; none when there is no file. */
export function readDeeds(path: string): { readonly kind: DeedKind; readonly mark: string }[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [kind = "", mark = ""] = line.split(" ");
    return { kind: kind === "charge" ? kind : "entry", mark };
  });
}
