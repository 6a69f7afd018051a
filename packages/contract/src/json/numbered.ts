/**
 * A client's request under a number of ours: its id and its progress token become that number
 * [C X-02]; every other character stays [C E-12].
 */
import { locate } from "./locate.ts";
import { splice } from "./splice.ts";

export function numbered(text: string, number: number): string {
  const spans = [...locate(text, "id"), ...locate(text, "params", "_meta", "progressToken")];
  const insert = String(number);
  return splice(
    text,
    spans.map((span) => ({ ...span, insert })),
  );
}
