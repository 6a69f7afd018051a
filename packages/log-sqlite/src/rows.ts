/** How streams and their calls are written in columns. Pure. */
import type { Call, CallState, EventKind, IncarnationRun } from "@holdfast/log";

const kinds: readonly EventKind[] = ["notification", "request", "response"];

export function kindNumber(kind: EventKind): number {
  return kinds.indexOf(kind);
}

export function kindOf(number: number): EventKind {
  const kind = kinds[number];
  if (kind === undefined) throw new RangeError(`no kind of event is written ${number}`);
  return kind;
}

export const responseKind = kindNumber("response");

/** What of its calls never changes; the empty text for none. */
export function writeCalls(calls: readonly CallState[]): string {
  if (calls.length === 0) return "";
  const texts = calls.map(({ id, method, name, startedAtMs, claim }) =>
    JSON.stringify({ id, method, name, startedAtMs, claim }),
  );
  return `[${texts.join(",")}]`;
}

/**
 * The states of calls: `r`, `c`, `a17`. A call whose response is the stream's last event is written
 * as running, because that event tells: so the common call costs no second write of its stream.
 *
 * @param lastResponse - position of the event that answered the last call; 0 if none did
 */
export function writeStates(calls: readonly CallState[], lastResponse: number): string {
  return calls
    .map((call) => {
      if (call.state === "running") return "r";
      if (call.state === "cancelled") return "c";
      return call.position === lastResponse ? "r" : `a${call.position}`;
    })
    .join(" ");
}

/** @param lastResponse - as for {@link writeStates} */
export function readCalls(calls: string, states: string, lastResponse: number): CallState[] {
  if (calls === "") return [];
  const texts = states.split(" ");
  return (JSON.parse(calls) as Call[]).map((call, i) => {
    const text = texts[i];
    if (text === "c") return { ...call, state: "cancelled" };
    if (text?.startsWith("a")) return { ...call, state: "answered", position: +text.slice(1) };
    if (lastResponse > 0) return { ...call, state: "answered", position: lastResponse };
    return { ...call, state: "running" };
  });
}

export function writeRuns(runs: readonly IncarnationRun[]): string {
  return runs.map(({ from, incarnation }) => `${from}:${incarnation}`).join(" ");
}

export function readRuns(text: string): IncarnationRun[] {
  return text.split(" ").map((run) => {
    const [from, incarnation = ""] = run.split(":");
    return { from: Number(from), incarnation };
  });
}
