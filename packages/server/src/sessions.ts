/**
 * The sessions of a runtime: born, found, expired, ended.
 *
 * An id is never adopted, revived or reissued [C S-04].
 */
import { createHash, randomBytes } from "node:crypto";
import type { EndReason, Op, SessionId } from "@holdfast/log";
import type { IncomingRequest } from "./incoming.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { type OpenOutcome, Session } from "./session.ts";
import { newSessionData, readSessionData, writeSessionData } from "./session-data.ts";

export type Absence = "unknown" | EndReason;

export type Lookup =
  | { readonly kind: "live"; readonly session: Session }
  | { readonly kind: "absent"; readonly reason: Absence };

/** [C S-09] 192 random bits, visible ASCII. */
const sessionIdBytes = 24;

export class Sessions {
  readonly #context: RuntimeContext;
  readonly #live = new Map<SessionId, Session>();
  /** Look-ups under way, so that one session is not loaded twice. */
  readonly #loading = new Map<SessionId, Promise<Lookup>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: RuntimeContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#live.size;
  }

  all(): IterableIterator<Session> {
    return this.#live.values();
  }

  /**
   * Begin a session with its `initialize`; both are in the log when this resolves.
   *
   * @throws what the log throws: there is no session
   */
  async create(
    request: IncomingRequest,
    principal: string,
  ): Promise<{ readonly session: Session; readonly outcome: OpenOutcome }> {
    const id = randomBytes(sessionIdBytes).toString("base64url") as SessionId;
    const tag = tagOf(id);
    const data = newSessionData(request.text, clientNameOf(request));
    const birth: Op = { op: "create", tag, principal, data: writeSessionData(data) };
    const session = this.#build(id, tag, { data, nextStream: 1 });
    const outcome = await session.open([request], [birth]);
    if (outcome.kind === "opened") this.#live.set(id, session);
    return { session, outcome };
  }

  /** @throws what the log throws */
  async find(id: SessionId): Promise<Lookup> {
    const session = this.#live.get(id);
    if (session !== undefined && !session.isOver) return { kind: "live", session };
    const loading = this.#loading.get(id) ?? this.#load(id);
    this.#loading.set(id, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(id);
    }
  }

  onEvicted(session: SessionId, stream: number, through: number): void {
    this.#live.get(session)?.onEvicted(stream, through);
  }

  /** Look for sessions that rested too long, again and again [C S-02]. */
  startSweeping(): void {
    const { idleTtlMs } = this.#context.options;
    const pauseMs = Math.min(Math.max(idleTtlMs / 4, 10), 5_000);
    this.#timer = setInterval(() => void this.#sweep(idleTtlMs), pauseMs);
    this.#timer.unref();
  }

  stopSweeping(): void {
    clearInterval(this.#timer);
  }

  async #load(id: SessionId): Promise<Lookup> {
    const state = await this.#context.log.session(id);
    if (state === undefined) return { kind: "absent", reason: "unknown" };
    if (state.ended !== undefined) return { kind: "absent", reason: state.ended };
    const again = this.#live.get(id);
    if (again !== undefined && !again.isOver) return { kind: "live", session: again };
    const { tag, nextStream } = state;
    const session = this.#build(id, tag, { data: readSessionData(state.data), nextStream });
    this.#live.set(id, session);
    return { kind: "live", session };
  }

  #build(
    id: SessionId,
    tag: string,
    birth: Pick<ConstructorParameters<typeof Session>[1], "data" | "nextStream">,
  ): Session {
    return new Session(this.#context, { id, tag, ...birth }, () => this.#live.delete(id));
  }

  async #sweep(idleTtlMs: number): Promise<void> {
    for (const session of this.#live.values()) {
      const restedMs = session.restedMs();
      if (restedMs === undefined || restedMs < idleTtlMs) continue;
      try {
        await session.end("expired");
        this.#context.logger.info({ session: session.tag }, "session expired");
      } catch (error) {
        this.#context.logger.error({ session: session.tag, error }, "a session did not expire");
        return;
      }
    }
  }
}

/** [C E-02] What stands for a session in event ids and logs: it tells nothing of the id. */
function tagOf(id: SessionId): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

function clientNameOf(request: IncomingRequest): string | undefined {
  const info = request.params?.["clientInfo"];
  if (typeof info !== "object" || info === null) return undefined;
  const name: unknown = "name" in info ? info.name : undefined;
  return typeof name === "string" ? name : undefined;
}
