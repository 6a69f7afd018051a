/**
 * A server as a pure model, with a fate for each request that it is asked: it keeps sessions and
 * streams as the protocol says, runs what it is told to run, and breaks every way a network can.
 * It shares nothing with the client.
 */
import fc from "fast-check";
import type { ScriptedRequest, ScriptedStream } from "./scripted-fetch.ts";
import { holdfastCapability, initializeResult, logMessage, withKeys } from "./world.ts";

/** What happens to one request, or to a stream that is open. */
export interface Fate {
  readonly kind: FateKind;
  /** So many events are shown, where a stream is. */
  readonly events: number;
  readonly lastly: "stay" | "reset" | "end" | "announce" | "finish";
}

const fateKinds = [
  ...(["serve", "serve", "serve", "serve", "json", "die", "dieAfter", "refuse", "notRun"] as const),
  ...(["fail", "forget", "unauthorized", "conflict", "gone", "goneBare", "page", "close"] as const),
] as const;

export type FateKind = (typeof fateKinds)[number];

export const fates: fc.Arbitrary<Fate> = fc.record({
  kind: fc.constantFrom(...fateKinds),
  events: fc.nat({ max: 3 }),
  lastly: fc.constantFrom("stay", "reset", "end", "announce", "finish"),
});

/** Keyed: its keys count in their session; shared: in every session. */
export type Breed = "plain" | "holdfast" | "keyed" | "shared";

interface ModelStream {
  /** Messages; the position of one is its index plus one. */
  readonly log: object[];
  readonly name: string;
  /** Of the call; undefined for the standalone stream. */
  readonly wireId: number | undefined;
  isFinished: boolean;
}

interface ModelSession {
  readonly id: string;
  readonly streams: Map<string, ModelStream>;
}

interface Viewport {
  readonly stream: ModelStream;
  readonly session: ModelSession;
  readonly out: ScriptedStream;
  shown: number;
}

export class ModelServer {
  /** How often each payload ran. */
  readonly runs = new Map<string, number>();
  /** What must never be seen, as sentences. */
  readonly sins: string[] = [];
  readonly #breed: Breed;
  readonly #sessions = new Map<string, ModelSession>();
  readonly #viewports: Viewport[] = [];
  /** By the key and whose it is. */
  readonly #keys = new Map<string, ModelStream>();
  #count = 0;

  constructor(breed: Breed) {
    this.#breed = breed;
  }

  /** A stream that is open, if any, goes on in this way. @returns false: none is open */
  nudge(fate: Fate): boolean {
    const viewport = this.#viewports.find(({ out }) => !out.isCancelled());
    if (viewport !== undefined) this.#show(viewport, fate);
    return viewport !== undefined;
  }

  /** Everything breaks. */
  collapse(): void {
    for (const { out } of this.#viewports) out.reset();
  }

  answer(request: ScriptedRequest, fate: Fate): void {
    const { method, headers } = request;
    const session = this.#sessions.get(headers["mcp-session-id"] ?? "");
    const cursor = headers["last-event-id"];
    if (cursor !== undefined && !cursor.includes(`:${headers["mcp-session-id"]}:`)) {
      this.sins.push(`the cursor ${cursor} in session ${headers["mcp-session-id"]}`);
    }
    if (fate.kind === "die") return request.die();
    if (fate.kind === "unauthorized") return request.respond(401);
    if (request.body.method === "initialize") return this.#initialize(request, fate);
    if (fate.kind === "forget" && session !== undefined) this.#sessions.delete(session.id);
    if (session === undefined || fate.kind === "forget") return request.respond(404);
    if (method === "GET") return this.#get(request, session, fate);
    if (request.body.id === undefined || request.body.method === undefined) {
      return request.respond(fate.kind === "fail" ? 500 : 202);
    }
    return this.#post(request, session, fate);
  }

  #initialize(request: ScriptedRequest, { kind }: Fate): void {
    if (kind === "fail") return request.respond(503);
    this.#count += 1;
    const id = `s${this.#count}`;
    const standalone = { log: [], name: `${id}/0`, wireId: undefined, isFinished: false };
    const streams = new Map([["0", standalone]]);
    this.#sessions.set(id, { id, streams });
    const offered = {
      ...{ plain: undefined, holdfast: holdfastCapability, keyed: withKeys },
      shared: { ...withKeys, idempotency: { ...withKeys.idempotency, scope: "shared" } },
    };
    const result = initializeResult(offered[this.#breed]);
    request.respond(200, { jsonrpc: "2.0", id: request.body.id, result }, { "mcp-session-id": id });
  }

  #post(request: ScriptedRequest, session: ModelSession, fate: Fate): void {
    const { body } = request;
    switch (fate.kind) {
      case "refuse":
        return request.respond(400, "<html>");
      case "notRun":
        return request.respond(429);
      case "page":
        this.#run(request, session);
        return request.respond(200, "<html>");
      case "dieAfter":
        this.#run(request, session);
        return request.die();
      case "fail":
        this.#run(request, session);
        return request.respond(502, "<html>");
      case "json": {
        const { log } = this.#run(request, session);
        return request.respond(200, log.at(-1) ?? { jsonrpc: "2.0", id: body.id, result: {} });
      }
      default:
        this.#open(request, session, this.#run(request, session), 0, fate);
    }
  }

  #get(request: ScriptedRequest, session: ModelSession, fate: Fate): void {
    const cursor = request.headers["last-event-id"];
    const [name = "0", position = "0"] = cursor?.split("@").at(-1)?.split("-") ?? [];
    const stream = session.streams.get(name);
    if (stream === undefined) return request.respond(400);
    const shown = Number(position);
    switch (fate.kind) {
      case "fail":
      case "notRun":
        return request.respond(503);
      case "conflict":
        return request.respond(409);
      case "goneBare":
        return request.respond(410);
      case "gone": {
        const oldestEventId = this.#idOf(session, name, Math.min(shown + 1, stream.log.length));
        const data = { type: "resume-window-exceeded", oldestEventId, lostEvents: 1 };
        const error = { code: -32010, message: "gone", data };
        return request.respond(410, { jsonrpc: "2.0", id: null, error });
      }
      case "page":
        return request.respond(200, "<html>");
      default:
        if (stream.isFinished && shown >= stream.log.length) return request.respond(204);
        return this.#open(request, session, stream, shown, fate);
    }
  }

  /** The effect: a call's stream is written at once, whoever reads it; under a known key there is none. */
  #run(request: ScriptedRequest, session: ModelSession): ModelStream {
    const { id, params, method } = request.body;
    const key = request.headers["idempotency-key"];
    const owner = this.#breed === "shared" ? "" : session.id;
    const known = key === undefined ? undefined : this.#keys.get(`${owner} ${key}`);
    if (known !== undefined && session.streams.get(known.name) === known) return known;
    const name = String(session.streams.size);
    const place = `${session.id}/${name}`;
    const log: object[] = known?.log.slice(-1) ?? [1, 2, 3].map((n) => logMessage(`${place}#${n}`));
    if (known === undefined) {
      const payload = String(params?.name ?? method);
      this.runs.set(payload, (this.runs.get(payload) ?? 0) + 1);
      log.push({ jsonrpc: "2.0", id, result: { for: payload } });
    }
    const stream = { log, name, wireId: id, isFinished: true };
    session.streams.set(name, stream);
    if (key !== undefined) this.#keys.set(`${owner} ${key}`, stream);
    return stream;
  }

  #open(
    request: ScriptedRequest,
    session: ModelSession,
    stream: ModelStream,
    shown: number,
    fate: Fate,
  ): void {
    const viewport = { stream, session, out: request.stream(), shown };
    this.#viewports.push(viewport);
    this.#show(viewport, fate);
  }

  #show(viewport: Viewport, { kind, events, lastly }: Fate): void {
    const { stream, session, out } = viewport;
    if (!stream.isFinished && events > 0) {
      const n = stream.log.length + 1;
      stream.log.push(logMessage(`${session.id}/${stream.name}#${n}`));
    }
    const until = lastly === "finish" ? stream.log.length : viewport.shown + events;
    for (; viewport.shown < Math.min(until, stream.log.length); viewport.shown += 1) {
      const id = this.#idOf(session, stream.name, viewport.shown + 1);
      out.event(stream.log[viewport.shown] as object, id);
    }
    if (kind === "close") {
      this.#sessions.delete(session.id);
      out.write('event: close\ndata: {"reason":"expired"}\n\n');
    }
    if (lastly === "announce") out.write("retry: 10\n\n");
    if (lastly === "reset") out.reset();
    else if (lastly !== "stay" && stream.wireId !== undefined) out.end();
  }

  #idOf({ id }: ModelSession, stream: string, position: number): string {
    return `e:${id}:@${stream}-${position}`;
  }
}
