/** Chapter: sessions begin, live on whatever happens to connections, and end as they should. */
import { expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";

export function sessionsChapter(open: OpenBench): void {
  test(`${verifies("S-01")}initialize opens a session that answers`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("echo", { text: "hi" });
    const call = await session.upstream.request("tools/call");
    call.answer({ content: [] });
    expect(await stream.response()).toEqual({ jsonrpc: "2.0", id: 1, result: { content: [] } });
    expect((await stream.ended).how).toBe("end");
  });
}
