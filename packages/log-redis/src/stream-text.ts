/** A stream as the store keeps it (see `lua/parts/streams.lua`), as the log's own. Pure. */
import {
  type Call,
  type CallState,
  effectiveRuns,
  type IncarnationRun,
  pruneRuns,
  type StreamState,
} from "@holdfast/log";

/** The log's newest possible loss: what was written in an earlier generation vouches for nothing. */
export interface Generation {
  readonly generation: number;
  readonly lossIncarnation: string;
}

export interface StreamTexts {
  readonly stream: number;
  readonly text: string;
  /** The calls as JSON; empty for the standalone stream. */
  readonly calls: string;
  /** Empty for none. */
  readonly viewer: string;
}

export function readStream(texts: StreamTexts, log: Generation): StreamState {
  const fields = texts.text.split(" ");
  const [head, evicted, written, , generation, , states = "-", runs = ""] = fields;
  if (fields.length !== 8) throw new Error(`a stream is kept as "${texts.text}"`);
  const evictedThrough = Number(evicted);
  const calls: readonly CallState[] = states === "-" ? [] : callStates(texts.calls, states);
  const loss = { lossGeneration: log.generation, lossIncarnation: log.lossIncarnation };
  const counted = effectiveRuns(readRuns(runs), Number(generation), loss);
  return {
    stream: texts.stream,
    calls,
    runs: pruneRuns(counted, evictedThrough),
    head: Number(head),
    evictedThrough,
    writtenThrough: Number(written),
    isFinished: states !== "-" && !states.includes("r"),
    ...(texts.viewer === "" ? {} : { viewer: texts.viewer }),
  };
}

function callStates(text: string, states: string): readonly CallState[] {
  const calls = JSON.parse(text) as readonly Call[];
  const each = states.split(",");
  return calls.map((call, i): CallState => {
    const state = each[i] ?? "";
    if (state === "r") return { ...call, state: "running" };
    if (state === "c") return { ...call, state: "cancelled" };
    return { ...call, state: "answered", position: Number.parseInt(state.slice(1), 10) };
  });
}

function readRuns(text: string): readonly IncarnationRun[] {
  return text.split(",").map((run) => {
    const colon = run.indexOf(":");
    return { from: Number(run.slice(0, colon)), incarnation: run.slice(colon + 1) };
  });
}
