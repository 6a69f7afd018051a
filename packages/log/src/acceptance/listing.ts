/** Chapter: live sessions, page by page, for people to look at. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../event-log.ts";
import type { LogHarness } from "./harness.ts";
import { openScene, type Scene, tagOf } from "./scene.ts";

export function listing(harness: LogHarness): void {
  describe("listing", () => {
    test("pages hold every live session once, in the order of the ids", async () => {
      const scene = await openScene(harness);
      const names = ["d", "B", "a", "e", "c-1", "c", "_x"];
      for (const name of names) await scene.create(name);
      // Of letters alone the order would depend on a locale.
      const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
      expect((await scene.log.list(undefined, 100)).map(({ session }) => session)).toEqual(sorted);
      expect(await pages(scene, 3)).toEqual([
        sorted.slice(0, 3),
        sorted.slice(3, 6),
        sorted.slice(6),
      ]);
      expect(await pages(scene, 7)).toEqual([sorted, []]);
    });

    test(`${verifies("S-04")}a session that is over is in no page`, async () => {
      const scene = await openScene(harness);
      for (const name of ["a", "b", "c"]) await scene.create(name);
      await scene.commit("b" as SessionId, { op: "end", reason: "deleted" });
      expect(await scene.log.list(undefined, 2)).toMatchObject([
        { session: "a", tag: tagOf("a"), principal: "owner of a", data: "data of a" },
        { session: "c" },
      ]);
    });
  });
}

async function pages(scene: Scene, limit: number): Promise<readonly (readonly string[])[]> {
  const found: string[][] = [];
  let after: SessionId | undefined;
  for (;;) {
    const page = await scene.log.list(after, limit);
    found.push(page.map(({ session }) => session));
    if (page.length < limit) return found;
    after = page.at(-1)?.session;
  }
}
