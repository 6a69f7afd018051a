/**
 * The names of everything in the store. All keys of one session share a hash tag, and so do those
 * of the log as a whole: no script touches two slots of a cluster.
 *
 * A session is named by a digest: its id is a secret, and key names show in the tools of operators.
 */
import { hash } from "node:crypto";
import type { SessionId } from "@holdfast/log";

/** The layout of the data; a log of another one is refused. */
export const dataVersion = "1";

export interface StoreKeys {
  readonly prefix: string;
  readonly log: string;
  readonly nodes: string;
  readonly ledger: readonly [ledger: string, due: string];
  /** In the order of `index.lua`, but for the last, which is a principal's. */
  readonly index: readonly [
    due: string,
    unused: string,
    used: string,
    waiting: string,
    live: string,
  ];
  liveOf(principal: string): string;
  /**
   * Begins the channel of a node: sessions that it owns and whose inbox got something; and that of
   * `all`: sessions that nobody owns.
   */
  readonly nodeChannels: string;
  /** Channel that tells of nodes that left. */
  readonly leftChannel: string;
}

export interface SessionKeys {
  /** The digest that stands for the session's id. */
  readonly name: string;
  /** In the order of `commit.lua`. */
  readonly all: readonly string[];
  readonly session: string;
  readonly evictable: string;
  readonly channel: string;
}

export function storeKeys(prefix: string): StoreKeys {
  const tag = `{${prefix}}`;
  return {
    prefix,
    log: `${tag}:log`,
    nodes: `${tag}:nodes`,
    ledger: [`${tag}:ledger`, `${tag}:ledger:due`],
    index: [
      `${tag}:due`,
      `${tag}:rest:unused`,
      `${tag}:rest:used`,
      `${tag}:rest:waiting`,
      `${tag}:live`,
    ],
    liveOf: (principal) => `${tag}:live:${digest(principal)}`,
    nodeChannels: `${tag}:node:`,
    leftChannel: `${tag}:left`,
  };
}

export function sessionKeys(prefix: string, id: SessionId): SessionKeys {
  return namedSession(prefix, digest(id));
}

/** @param name - the digest of the session's id */
export function namedSession(prefix: string, name: string): SessionKeys {
  const tag = `{${prefix}:${name}}`;
  const of = (what: string) => `${tag}:${what}`;
  const session = of("session");
  const evictable = of("evictable");
  const all = [
    ...[session, of("streams"), of("events"), evictable, of("finished")],
    ...[of("running"), of("unsettled"), of("void"), of("inbox")],
  ];
  return { name, all, session, evictable, channel: of("news") };
}

/** 132 bits of SHA-256, in 22 characters without `/`, blank or comma. */
export function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}
