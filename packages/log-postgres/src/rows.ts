/** Sessions, streams and claims as rows have them. Pure. */
import { createHash } from "node:crypto";
import type { OutcomeUnknownReason } from "@holdfast/contract";
import {
  type CallState,
  type Claim,
  type EventKind,
  effectiveRuns,
  type Holding,
  type IncarnationRun,
  type NodeId,
  type PossibleLoss,
  pruneRuns,
  type SessionId,
  type SessionState,
  type StreamState,
} from "@holdfast/log";

export interface SessionRow {
  readonly id: number;
  readonly name: string;
  readonly tag: string;
  readonly principal: Buffer;
  readonly data: Buffer;
  readonly created_at_ms: number;
  readonly ended: string | null;
  readonly purge: number;
  readonly version: number;
  readonly writes: readonly string[];
  readonly next_stream: number;
  readonly response_bytes: number;
  readonly owner: string | null;
  readonly fence: number;
  readonly incarnation: string;
  readonly generation: number;
  readonly running_calls: number;
  readonly running_streams: number;
  readonly inbox_head: number;
  readonly inbox_entries: number;
  readonly inbox_bytes: number;
}

export interface StreamRow {
  readonly stream: number;
  readonly calls: Buffer;
  readonly runs: string;
  readonly generation: number;
  readonly head: number;
  readonly evicted_through: number;
  readonly written_through: number;
  readonly viewer: string | null;
  readonly finished_at_ms: number | null;
}

export interface ClaimRow {
  readonly digest: Buffer;
  readonly session: string;
  readonly stream: number;
  readonly call: number;
  readonly request: Buffer;
  readonly response: Buffer | null;
  readonly unknown: string | null;
}

export function sessionOf(row: SessionRow): SessionState {
  return {
    session: row.name as SessionId,
    tag: row.tag,
    principal: row.principal.toString(),
    data: row.data.toString(),
    createdAtMs: row.created_at_ms,
    ...(row.ended === null ? {} : { ended: row.ended as NonNullable<SessionState["ended"]> }),
    nextStream: row.next_stream,
  };
}

export function holdingOf(row: SessionRow): Holding {
  return {
    owner: (row.owner ?? undefined) as NodeId | undefined,
    fence: row.fence,
    inbox: row.inbox_head,
    calls: row.running_calls,
    streams: row.running_streams,
  };
}

/** The incarnation under which a session is appended to; one from before a loss does not count. */
export function incarnationOf(
  row: { readonly incarnation: string; readonly generation: number },
  loss: PossibleLoss,
): string {
  return row.generation >= loss.lossGeneration ? row.incarnation : loss.lossIncarnation;
}

/** @param loss - the last one that the log knows of; runs from before it vouch for nothing */
export function streamOf(row: StreamRow, loss: PossibleLoss): StreamState {
  const runs = effectiveRuns(readRuns(row.runs), row.generation, loss);
  return {
    stream: row.stream,
    calls: row.calls.length === 0 ? [] : (JSON.parse(row.calls.toString()) as CallState[]),
    runs: pruneRuns(runs, row.evicted_through),
    head: row.head,
    evictedThrough: row.evicted_through,
    writtenThrough: row.written_through,
    isFinished: row.finished_at_ms !== null,
    ...(row.viewer === null ? {} : { viewer: row.viewer }),
  };
}

export function claimOf(row: ClaimRow): Claim {
  return {
    digest: row.digest.toString(),
    session: row.session as SessionId,
    stream: row.stream,
    call: row.call,
    request: JSON.parse(row.request.toString()) as Claim["request"],
    outcome: outcomeOf(row),
  };
}

function outcomeOf({ response, unknown }: ClaimRow): Claim["outcome"] {
  if (response !== null) return { kind: "answered", text: response.toString() };
  if (unknown !== null) return { kind: "unknown", reason: unknown as OutcomeUnknownReason };
  return { kind: "running" };
}

export function writeRuns(runs: readonly IncarnationRun[]): string {
  return runs.map(({ from, incarnation }) => `${from}:${incarnation}`).join(" ");
}

function readRuns(text: string): IncarnationRun[] {
  return text.split(" ").map((run) => {
    const [from, incarnation = ""] = run.split(":");
    return { from: Number(from), incarnation };
  });
}

const kinds: readonly EventKind[] = ["notification", "request", "response"];

export function kindNumber(kind: EventKind): number {
  return kinds.indexOf(kind);
}

export function kindOf(number: number): EventKind {
  const kind = kinds[number];
  if (kind === undefined) throw new RangeError(`no kind of event is written ${number}`);
  return kind;
}

/** An entry of an index may not be longer than a third of a page. */
const indexBytesMax = 1_000;

/** A text as a column that is in an index has it: itself, or what stands for a very long one. */
export function indexed(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length <= indexBytesMax) return bytes;
  // No UTF-8 begins so: it stands for no other text.
  return Buffer.concat([Buffer.of(0xff), createHash("sha256").update(bytes).digest()]);
}
