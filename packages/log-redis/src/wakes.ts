/**
 * Who is woken, by what: own commits at once, those of other nodes by messages of the store, and
 * what a lost message would have told by looking again and again. A message is a hint: doubled or
 * late it wakes without cause, lost it is made good within a round of looking.
 */
import { addFollower, createFollowers, type Followers, type SessionId } from "@holdfast/log";
import { createClient } from "redis";
import type { Desk } from "./desk.ts";
import { type SessionKeys, sessionKeys } from "./keys.ts";
import type { News } from "./lanes.ts";

/** Sessions that one round of looking asks about. */
const lookedAtMax = 500;

interface Followed {
  readonly id: SessionId;
  readonly keys: SessionKeys;
  /** Streams that are followed, each as often as it is. */
  follows: number;
  /** News of the session that everybody was woken for; `undefined` until it is known. */
  news: number | undefined;
}

export interface WakeSettings {
  readonly url: string;
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly pollMs: number;
}

interface Opened {
  readonly desk: Desk;
  readonly client: Subscriber;
  /** Names the commits of this process. */
  readonly writer: string;
  node: string;
}

export class Wakes {
  readonly #settings: WakeSettings;
  readonly #followers: Followers = createFollowers();
  readonly #followed = new Map<SessionId, Followed>();
  readonly #inboxWakes = new Set<(session: SessionId) => void>();
  readonly #nodeWakes = new Set<() => void>();
  /** Sessions that this node owns, with the newest entry that anybody was woken for. */
  readonly #owned = new Map<SessionId, number>();
  #opened: Opened | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Where the next round of looking begins. */
  #after = 0;

  constructor(settings: WakeSettings) {
    this.#settings = settings;
  }

  async open(desk: Desk, node: string, writer: string): Promise<void> {
    const { url, timeoutMs, pollMs } = this.#settings;
    const client = subscriberOf(url, timeoutMs);
    this.#opened = { desk, client, node, writer };
    await client.connect();
    await client.subscribe(desk.keys.leftChannel, () => this.#tellNodes());
    await this.#subscribeNode(node);
    await this.#subscribeNode("all");
    for (const one of this.#followed.values()) this.#subscribe(one);
    // What was said while nobody listened.
    client.on("ready", () => void this.#lookAtAll());
    this.#schedule(pollMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    const { client } = this.#opened ?? {};
    this.#opened = undefined;
    this.#owned.clear();
    if (client?.isOpen) client.destroy();
  }

  /** The node has another name. */
  async renamed(node: string): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    const before = opened.node;
    opened.node = node;
    this.#owned.clear();
    await this.#subscribeNode(node);
    await opened.client.unsubscribe(opened.desk.keys.nodeChannels + before);
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    const leave = this.#followers.follow(id, stream, wake);
    const known = this.#followed.get(id);
    const one = known ?? { id, keys: this.#keysOf(id), follows: 0, news: undefined };
    one.follows += 1;
    if (known === undefined) {
      this.#followed.set(id, one);
      this.#subscribe(one);
    }
    let isLeft = false;
    return () => {
      leave();
      if (isLeft) return;
      isLeft = true;
      one.follows -= 1;
      if (one.follows > 0) return;
      this.#followed.delete(id);
      this.#opened?.client.sUnsubscribe(one.keys.channel).catch(ignore);
    };
  }

  followInbox(wake: (session: SessionId) => void): () => void {
    return addFollower(this.#inboxWakes, wake);
  }

  followNodes(wake: () => void): () => void {
    return addFollower(this.#nodeWakes, wake);
  }

  /** A commit of this node. */
  committed({ id, news, streams }: News): void {
    const one = this.#followed.get(id);
    const before = one?.news;
    if (one !== undefined) one.news = Math.max(before ?? 0, news);
    // Another node's came in between, and its message is still to come, or lost.
    const isMissing = before !== undefined && news > before + 1;
    if (streams === undefined || isMissing) this.#followers.wakeAll(id);
    else this.#followers.wake(id, streams);
  }

  /** This node owns the session, or no more: its inbox is looked at. */
  owns(id: SessionId, isOwner: boolean): void {
    if (!isOwner) this.#owned.delete(id);
    else if (!this.#owned.has(id)) this.#owned.set(id, 0);
  }

  #keysOf(id: SessionId): SessionKeys {
    return sessionKeys(this.#settings.prefix, id);
  }

  #subscribe(one: Followed): void {
    const opened = this.#opened;
    if (opened === undefined) return;
    const heard = (message: string) => this.#heard(one, message);
    opened.client.sSubscribe(one.keys.channel, heard).catch(ignore);
    // Asked before whatever the follower reads first: what is newer than this it may have missed.
    this.#askNews(one).then((news) => {
      one.news = Math.max(one.news ?? 0, news);
    }, ignore);
  }

  async #subscribeNode(node: string): Promise<void> {
    const { client, desk } = this.#opened ?? {};
    if (client === undefined || desk === undefined) return;
    await client.subscribe(desk.keys.nodeChannels + node, (session: string) => {
      this.#tellInbox(session as SessionId);
    });
  }

  /** `writer news streams`: see `lua/commit.lua`. */
  #heard(one: Followed, message: string): void {
    const [writer, number = "0", streams = "*"] = message.split(" ");
    // An own commit tells by its answer; if that is lost, the next look does.
    if (writer === this.#opened?.writer) return;
    const news = Number(number);
    const isNext = one.news !== undefined && news === one.news + 1;
    // Known already: of this node, or told twice.
    if (one.news !== undefined && news <= one.news) return;
    one.news = news;
    if (!isNext || streams === "*") this.#followers.wakeAll(one.id);
    else this.#followers.wake(one.id, streams.split(",").map(Number));
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => {
        if (this.#opened !== undefined) this.#schedule(this.#settings.pollMs);
      });
    }, afterMs);
    this.#timer.unref();
  }

  async #lookAtAll(): Promise<void> {
    this.#tellNodes();
    const rounds = Math.ceil(Math.max(this.#followed.size, this.#owned.size) / lookedAtMax);
    for (let i = 0; i < rounds && this.#opened !== undefined; i += 1) await this.#look();
  }

  /** One round: ask the store itself what is new. */
  async #look(): Promise<void> {
    const followed = pageOf([...this.#followed.values()], this.#after);
    const owned = this.#inboxWakes.size === 0 ? [] : pageOf([...this.#owned.keys()], this.#after);
    this.#after += lookedAtMax;
    await Promise.all([
      ...followed.map((one) => this.#lookAtNews(one)),
      ...owned.map((id) => this.#lookAtInbox(id)),
    ]).catch(ignore);
  }

  async #lookAtNews(one: Followed): Promise<void> {
    const news = await this.#askNews(one);
    if (one.news !== undefined && news <= one.news) return;
    one.news = news;
    this.#followers.wakeAll(one.id);
  }

  async #askNews({ keys }: Followed): Promise<number> {
    return Number((await this.#opened?.desk.line.command("HGET", keys.session, "news")) ?? 0);
  }

  async #lookAtInbox(id: SessionId): Promise<void> {
    const { desk, node } = this.#opened ?? {};
    const { session } = this.#keysOf(id);
    const found = await desk?.line.command("HMGET", session, "owner", "ended", "inbox", "taken");
    if (!Array.isArray(found)) return;
    const [owner, ended, inbox, taken] = found;
    if (owner !== node || ended !== null) return void this.#owned.delete(id);
    if (Number(inbox ?? 0) > Number(taken ?? 0)) this.#tellInbox(id);
  }

  #tellInbox(id: SessionId): void {
    for (const wake of [...this.#inboxWakes]) wake(id);
  }

  #tellNodes(): void {
    for (const wake of [...this.#nodeWakes]) wake();
  }
}

type Subscriber = ReturnType<typeof subscriberOf>;

function subscriberOf(url: string, timeoutMs: number) {
  const client = createClient({
    url,
    RESP: 2,
    // A connection that says nothing for so long is dead: pings are answered.
    pingInterval: timeoutMs,
    socket: {
      connectTimeout: timeoutMs,
      socketTimeout: 3 * timeoutMs,
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** retries, 1_000) * (0.5 + Math.random() / 2),
    },
  });
  // It connects again by itself, and subscribes again to what it was subscribed to.
  client.on("error", ignore);
  return client;
}

/** A part of the list that goes around with `after`. */
function pageOf<One>(list: readonly One[], after: number): readonly One[] {
  if (list.length <= lookedAtMax) return list;
  const from = after % list.length;
  const page = list.slice(from, from + lookedAtMax);
  return page.length < lookedAtMax ? [...page, ...list.slice(0, lookedAtMax - page.length)] : page;
}

function ignore(): void {}
