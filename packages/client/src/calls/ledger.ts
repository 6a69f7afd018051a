/**
 * The ledger of calls [C K-03]: every request that was sent and has not ended, by its id on the
 * wire, and what is noted of each in the state. What goes over the wire is elsewhere.
 */
import type { JsonObject, LostCall, RequestId } from "@holdfast/contract";
import type { Came } from "../connection.ts";
import type { StoredCall } from "../state/client-state.ts";
import type { StateWriter } from "../state/state-writer.ts";
import type { CallTrace } from "../telemetry.ts";
import { type CallEnd, type CallOutcome, outcomeOf } from "./outcomes.ts";

/** Who waits for a call. */
export type Caller =
  | { readonly kind: "app"; readonly id: RequestId; readonly progressToken: unknown }
  /** The transport itself; such calls are not in the state. */
  | { readonly kind: "internal" }
  /** It died with its process; the outcome is kept for who asks [C K-10]. */
  | { readonly kind: "gone" }
  /** It was told that the outcome is unknown; the true one would be news. */
  | { readonly kind: "told" };

export interface Call {
  readonly wireId: number;
  readonly message: JsonObject;
  /** Running twice does no harm, whatever the keys. */
  readonly isHarmless: boolean;
  /** What the state holds; the session changes when it goes out once more. */
  stored: StoredCall;
  caller: Caller;
  /** Settles what `send` returned. */
  sent: PromiseWithResolvers<void>;
  /** The answer has begun: what still goes wrong is told by a message. */
  isAccepted: boolean;
  /** Its span, where somebody records spans. */
  readonly trace?: CallTrace | undefined;
  /** Set when its response is here: how that came. */
  came?: Came;
  /** Once. */
  readonly onEnd: (end: CallEnd) => void;
}

/** In flight at a time; more is a fault of the application. */
export const callsMax = 10_000;

export class Ledger {
  readonly #writer: StateWriter;
  readonly #running = new Map<number, Call>();

  constructor(writer: StateWriter) {
    this.#writer = writer;
  }

  get size(): number {
    return this.#running.size;
  }

  add(call: Call): void {
    this.#running.set(call.wireId, call);
  }

  /** @param id - of a response, or a progress token: whatever the server sent */
  find(id: unknown): Call | undefined {
    return typeof id === "number" ? this.#running.get(id) : undefined;
  }

  /** The newest call that the application knows by this id. */
  findByAppId(id: unknown): Call | undefined {
    return [...this.#running.values()].findLast(
      ({ caller }) => caller.kind === "app" && caller.id === id,
    );
  }

  all(): readonly Call[] {
    return [...this.#running.values()];
  }

  /** [C K-03] resolves when the call is durable as it will be sent. */
  async note(call: Call, session: number): Promise<void> {
    const isNew = call.stored.session !== session;
    if (isNew) call.stored = { ...call.stored, session };
    if (call.caller.kind !== "internal") {
      await this.#writer.before({ change: "putCall", call: call.stored });
    }
  }

  /** The call ends, once; whoever comes second finds it gone. */
  end(call: Call, end: CallEnd): void {
    if (!this.#running.delete(call.wireId)) return;
    call.onEnd(end);
  }

  /** The caller was told; the true outcome may still come. */
  setTold(call: Call): void {
    call.caller = { kind: "told" };
    this.#writer.after({ change: "setTold", wireId: call.wireId });
  }

  /** Nothing more is owed to anybody. */
  forget({ wireId }: Pick<Call, "wireId">): void {
    this.#writer.after({ change: "dropCall", wireId });
  }

  keepOutcome({ wireId }: Call, outcome: CallOutcome): void {
    const text = JSON.stringify(outcome);
    this.#writer.after({ change: "setOutcome", wireId, outcome: text });
  }

  moved({ wireId, caller }: Call, cursor: string | null): void {
    if (caller.kind === "internal") return;
    this.#writer.after({ change: "setCallCursor", wireId, cursor });
  }
}

/** The call in the words of an unknown outcome. */
export function lostCallOf({ stored }: Pick<Call, "stored">): LostCall {
  const { appId: id, method, name, startedAtMs } = stored;
  return { id, method, ...(name === null ? {} : { name }), startedAtMs };
}

export function outcomeOfCall(call: Call, end: CallEnd): CallOutcome | undefined {
  const { caller } = call;
  const lost = lostCallOf(call);
  // Who attached to a call knows it by an id of its own.
  const id = caller.kind === "app" ? JSON.stringify(caller.id) : lost.id;
  return outcomeOf(end, { ...lost, id });
}
