/**
 * What nodes tell each other through the store: that a session has changed, that an inbox has got
 * something, that a node left. Pure.
 *
 *     node
 *     hash row streams owner    streams: `3,7`; `*` for all; `-` for none.
 *                               owner, whose inbox has something: `*` for everyone, `-` for nobody
 *     left
 *
 * A session is named by a hash of its id: whoever may connect to a database can listen on any channel
 * of it, and the id is a secret [C P-03].
 */
import { createHash } from "node:crypto";
import type { NodeId, SessionId } from "@holdfast/log";

export type Message =
  | {
      readonly kind: "changed";
      readonly hash: string;
      /** Id of its row; 0 where that is not known. */
      readonly row: number;
      readonly streams: "all" | readonly number[];
      readonly owner: Recipient | undefined;
    }
  /** A node left. */
  | { readonly kind: "left" };

/** Whose inbox has got something: the owner's, or anyone's while nobody owns the session. */
export type Recipient = NodeId | "everyone";

export interface Messages {
  readonly from: string;
  readonly messages: readonly Message[];
}

/** PostgreSQL takes less than 8000. */
const textMax = 7_900;
/** Of more streams at once all are told of. */
const streamsMax = 100;

export function hashOf(session: SessionId): string {
  return createHash("sha256").update(session).digest("base64url").slice(0, 16);
}

/** @returns as many texts as it takes, each short enough */
export function writeMessages({ from, messages }: Messages): readonly string[] {
  const texts: string[] = [];
  let text = from;
  for (const message of messages) {
    const line = `\n${lineOf(message)}`;
    if (text.length + line.length > textMax) {
      texts.push(text);
      text = from;
    }
    text += line;
  }
  return [...texts, text];
}

export function readMessages(text: string): Messages {
  const [from = "", ...lines] = text.split("\n");
  const messages = lines.map((line): Message => {
    const [hash = "", row = "0", streams = "-", owner = "-"] = line.split(" ");
    if (hash === "left") return { kind: "left" };
    return {
      kind: "changed",
      ...{ hash, row: Number(row) },
      streams: streamsOf(streams),
      owner: owner === "*" ? "everyone" : owner === "-" ? undefined : (owner as NodeId),
    };
  });
  return { from, messages };
}

function lineOf(message: Message): string {
  if (message.kind === "left") return "left";
  const { hash, row, streams, owner } = message;
  const isAll = streams === "all" || streams.length > streamsMax;
  const named = isAll ? "*" : streams.join(",") || "-";
  return `${hash} ${row} ${named} ${owner === "everyone" ? "*" : (owner ?? "-")}`;
}

function streamsOf(text: string): "all" | readonly number[] {
  if (text === "*") return "all";
  return text === "-" ? [] : text.split(",").map(Number);
}
