/** Replies of scripts as what they must be; anything else is a mistake of ours. */
import type { Reply } from "./connection.ts";

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw new Error(`a script gave ${JSON.stringify(reply)} for a list`);
}

export function textOf(reply: Reply | undefined): string {
  if (typeof reply === "string") return reply;
  throw new Error(`a script gave ${JSON.stringify(reply)} for a text`);
}

export function textsOf(reply: Reply | undefined): readonly string[] {
  return listOf(reply).map(textOf);
}

/** @yields so many of the list at a time */
export function* groupsOf(list: readonly string[], size: number): Generator<readonly string[]> {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size);
}
