/**
 * The client's state towards an HTTP upstream as one text, which is kept with the session in the
 * event log: what the client notes, and the events that came of it, change together.
 *
 * It is written often, so it holds only what a later process needs: of what the server said of
 * itself the part that decides anything, and no large request. Without its body a call is resumed
 * where it has a cursor, and never sent again.
 */
import {
  type ClientState,
  emptyState,
  idBlock,
  type LedgerEntry,
  type StateChange,
  type StateModel,
  type StoredCall,
  type StoredSession,
  type StoredState,
  stateModel,
} from "@holdfast/client";

export interface KeptState extends ClientState {
  /** Resolves when no id of this process can be given out by a later one. */
  ready(): Promise<void>;
  /** Make changes. @returns the text to keep, if it is another one now */
  change(changes: readonly StateChange[]): string | undefined;
  /** The session at the server that requests go to, if there is one. */
  readonly session: Pick<StoredSession, "sessionId" | "version"> | undefined;
}

interface Written {
  readonly nextId: number;
  readonly currentSession: number | null;
  readonly sessions: readonly StoredSession[];
  readonly cursors: readonly (readonly [number, string])[];
  readonly ledger: readonly LedgerEntry[];
}

/** A larger request is not kept: it would be written again with every event. */
const bodyCharsMax = 2048;

/**
 * @param text - what was kept last; undefined: nothing yet
 * @param keep - keeps a text in its place; resolves when it is durable
 */
export function keptState(
  text: string | undefined,
  keep: (text: string) => Promise<void>,
): KeptState {
  const stored = text === undefined ? undefined : (JSON.parse(text) as Written);
  const model = stateModel(stored === undefined ? emptyState : stateOf(stored));
  let nextId = stored?.nextId ?? 1;
  let written = text;
  // The first block is this process's before anything is sent.
  let reserved: number | undefined = nextId;
  nextId += idBlock;

  const change = (changes: readonly StateChange[]): string | undefined => {
    for (const one of changes) model.apply(lean(one));
    const next = write(model, nextId);
    if (next === written) return undefined;
    written = next;
    return next;
  };
  const commit = (changes: readonly StateChange[]): Promise<void> | undefined => {
    const next = change(changes);
    return next === undefined ? undefined : keep(next);
  };
  return {
    isDurable: true,
    get session() {
      const { currentSession, sessions } = model.read();
      return sessions.find(({ key }) => key === currentSession);
    },
    ready: async () => commit([]),
    change,
    open: () => model.read(),
    reserveIds: () => {
      const first = reserved ?? nextId;
      if (reserved === undefined) nextId += idBlock;
      reserved = undefined;
      return first;
    },
    // What changes nothing was kept with the message that it is about.
    commit,
    close: () => {},
  };
}

function lean(change: StateChange): StateChange {
  if (change.change === "putCall") return { ...change, call: leanCall(change.call) };
  if (change.change !== "putSession") return change;
  const { session } = change;
  const { protocolVersion, serverInfo, capabilities } = session.result;
  const { experimental } = Object(capabilities) as { experimental?: unknown };
  const result = { protocolVersion, serverInfo, capabilities: { experimental } };
  return { ...change, session: { ...session, result } };
}

function leanCall(call: StoredCall): StoredCall {
  if (call.body.length <= bodyCharsMax) return call;
  const { params } = JSON.parse(call.body) as { params?: { _meta?: { progressToken?: unknown } } };
  const { progressToken } = params?._meta ?? {};
  const meta = progressToken === undefined ? {} : { _meta: { progressToken } };
  const { wireId: id, method } = call;
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: meta });
  return { ...call, body, isSafe: false, isSafeAcross: false, idempotencyKey: null };
}

function write(model: StateModel, nextId: number): string {
  const { cursors, ...rest } = model.read();
  const written: Written = { nextId, ...rest, cursors: [...cursors] };
  return JSON.stringify(written);
}

function stateOf({ nextId: _ids, cursors, ...rest }: Written): StoredState {
  return { ...rest, cursors: new Map(cursors) };
}
