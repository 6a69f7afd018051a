/**
 * A session that this process runs, as the HTTP side sees it: what a POST says goes to the log, then
 * to the upstream. Where other nodes serve the session too, what they sent before goes first.
 */
import type { EndReason, StreamState } from "@holdfast/log";
import type { Keys } from "./idempotency/keys.ts";
import type { Incoming } from "./incoming.ts";
import type { Ownership } from "./nodes/ownership.ts";
import type { Session } from "./session.ts";
import type { OpenedCalls } from "./session-calls.ts";
import type {
  EndOutcome,
  OpenedStream,
  PostedCalls,
  PostOutcome,
  SessionFace,
  TellOutcome,
} from "./session-face.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import { newViewer } from "./viewer.ts";
import type { Viewports } from "./viewports.ts";

export class OwnSession implements SessionFace {
  readonly session: Session;
  /** Set in a shared log. */
  readonly ownership: Ownership | undefined;
  readonly #keys: Keys;

  constructor(session: Session, keys: Keys, ownership: Ownership | undefined) {
    this.session = session;
    this.ownership = ownership;
    this.#keys = keys;
  }

  get id(): Session["id"] {
    return this.session.id;
  }

  get tag(): string {
    return this.session.tag;
  }

  get principal(): string {
    return this.session.principal;
  }

  get version(): string | undefined {
    return this.session.version;
  }

  get isPrimed(): boolean {
    return this.session.isPrimed;
  }

  get viewports(): Viewports {
    return this.session.viewports;
  }

  get isOverloaded(): boolean {
    return this.session.isOverloaded;
  }

  get load(): { readonly calls: number; readonly streams: number } {
    const { calls } = this.session;
    return {
      calls: calls.count,
      // Each call has a stream, several may share one: they are counted when it matters.
      get streams() {
        return calls.streams;
      },
    };
  }

  hold(calls: number): () => void {
    return this.session.calls.hold(calls);
  }

  touch(headers: ForwardedHeaders): void {
    this.session.touch(headers);
  }

  async open(posted: PostedCalls): Promise<PostOutcome> {
    const { requests, key } = posted;
    const [first] = requests;
    if (key === undefined || first === undefined) {
      const outcome = await this.session.calls.open(requests);
      if (outcome.kind === "opened") return this.opened(outcome, posted, true);
      // Without a key there is no claim that could be refused.
      return outcome.kind === "claimed" ? { kind: "absent" } : outcome;
    }
    const outcome = await this.#keys.open(this.session, first, key.scope, key.key);
    if (outcome.kind !== "opened") return outcome;
    return this.opened(outcome.opened, posted, outcome.isNew);
  }

  /** @param isNew - its calls are to be delivered: they wait for no other */
  opened(
    opened: OpenedCalls,
    { messages, headers }: Pick<PostedCalls, "messages" | "headers">,
    isNew: boolean,
  ): OpenedStream {
    return {
      kind: "opened",
      begin: opened.begin,
      start: async () => {
        await this.ownership?.catchUp(opened.inbox);
        // In the order in which they were sent: an array may hold notifications too.
        this.#tell(messages);
        if (isNew) this.session.calls.deliver(opened, headers);
      },
    };
  }

  async tell(messages: readonly Incoming[]): Promise<TellOutcome> {
    if (this.ownership !== undefined && !(await this.ownership.catchUp())) return { kind: "moved" };
    this.#tell(messages);
    return { kind: "told" };
  }

  async attach(stream: number, former?: StreamState): Promise<string | undefined> {
    if (this.ownership === undefined) return undefined;
    const viewer = newViewer(former?.viewer);
    await this.session.attach(stream, viewer);
    return viewer;
  }

  async end(reason: EndReason): Promise<EndOutcome> {
    // Of two DELETEs at once, one finds nothing left to delete.
    if (await this.session.end(reason)) return { kind: "ended" };
    return { kind: this.session.isAbandoned ? "moved" : "absent" };
  }

  #tell(messages: readonly Incoming[]): void {
    for (const message of messages) {
      if (message.kind === "notification") this.session.notify(message);
      else if (message.kind === "response") this.session.answer(message);
    }
  }
}
