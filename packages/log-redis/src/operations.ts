/** Commits as `lua/commit.lua` is given them, and its outcomes as the log's own. Pure. */
import type { EventPlace } from "@holdfast/contract";
import type { Claim, Commit, CommitOutcome, NodeId, Op, SessionId } from "@holdfast/log";

/** What became of the claim of a call's key, before its commit. */
export type Asked =
  | { readonly kind: "won"; readonly name: string; readonly token: string }
  /** `claim` stands against it. */
  | { readonly kind: "held"; readonly name: string; readonly token: string; readonly claim: Claim };

/** @param asked - for each call that has a key, in their order */
export function writeCommit(
  id: SessionId,
  { id: attempt, fence, ops }: Commit,
  asked: readonly Asked[],
): string[] {
  const rest = [...asked];
  const args = [attempt === undefined ? "" : JSON.stringify(attempt), `${fence}`, `${ops.length}`];
  for (const op of ops) args.push(...writeOp(id, op, rest));
  return args;
}

function writeOp(id: SessionId, op: Op, rest: Asked[]): readonly string[] {
  switch (op.op) {
    case "create":
      return ["c", op.tag, op.principal, op.data, id];
    case "record":
      return ["d", op.data];
    case "open":
      return writeOpening(op, rest);
    case "append":
      return op.kind === "response"
        ? ["r", `${op.stream}`, `${op.call}`, op.text, op.unknown ?? ""]
        : ["a", `${op.stream}`, op.kind === "request" ? "q" : "n", op.text];
    case "cancel":
      return ["x", `${op.stream}`, `${op.call}`];
    case "written":
      return ["w", `${op.stream}`, `${op.position}`];
    case "touch":
      return ["t", op.isUsed ? "1" : "0"];
    case "send":
      return ["s", op.text];
    case "attach":
      return ["v", `${op.stream}`, op.viewer];
    case "end":
      return ["e", op.reason];
  }
}

function writeOpening(op: Extract<Op, { op: "open" }>, rest: Asked[]): readonly string[] {
  let flags = "";
  let held = "";
  const keys: string[] = [];
  for (const { claim } of op.calls) {
    const asked = claim === undefined ? undefined : rest.shift();
    keys.push(asked === undefined ? "-" : `${asked.name}/${asked.token}`);
    flags += asked === undefined ? "0" : asked.kind === "won" ? "1" : "2";
    if (asked?.kind === "held" && held === "") held = writeHeld(asked.name, asked.claim);
  }
  const isKeyed = keys.some((key) => key !== "-");
  return [
    ...["o", `${op.stream}`, JSON.stringify(op.calls), flags],
    ...[isKeyed ? keys.join(",") : "-", held],
  ];
}

/** The response stays in the ledger: it may be large, and is final. */
function writeHeld(name: string, claim: Claim): string {
  const { outcome } = claim;
  const kept = outcome.kind === "answered" ? { kind: "answered" } : outcome;
  return JSON.stringify({ name, claim: { ...claim, outcome: kept } });
}

export type Outcome =
  | { readonly kind: "done"; readonly outcome: CommitOutcome }
  /** A key is held: `claim` lacks the response if it is answered. */
  | { readonly kind: "held"; readonly name: string; readonly claim: Claim }
  /** The operations make no sense; nothing changed. */
  | { readonly kind: "mistake"; readonly message: string }
  /** The keys have to be claimed anew. */
  | { readonly kind: "void" };

/** @param tag - of the session */
export function readOutcome(text: string, tag: string): Outcome {
  const rest = text.slice(2);
  switch (text[0]) {
    case "C":
      return { kind: "done", outcome: readCommitted(rest, tag) };
    case "H":
      return { kind: "held", ...(JSON.parse(rest) as { name: string; claim: Claim }) };
    case "F":
      return { kind: "done", outcome: { kind: "full" } };
    case "A":
      return { kind: "done", outcome: { kind: "absent" } };
    case "X":
      return { kind: "done", outcome: { kind: "fenced" } };
    case "V":
      return { kind: "void" };
    case "M":
      return { kind: "mistake", message: rest };
    default:
      throw new Error(`an outcome is kept as "${text}"`);
  }
}

function readCommitted(text: string, tag: string): CommitOutcome {
  const [incarnation = "", appended = "", begun = "", owner, ...numbers] = text.split(" ");
  const place = (stream: string, position: number): EventPlace => {
    return { tag, stream: Number(stream), position, incarnation };
  };
  const [fence = 0, inbox = 0, calls = 0, streams = 0] = numbers.map(Number);
  return {
    kind: "committed",
    appended: parts(appended).map((one) => {
      const [stream = "", position] = one.split(":");
      return place(stream, Number(position));
    }),
    begun: parts(begun).map((stream) => place(stream, 0)),
    holding: { owner: ownerOf(owner), fence, inbox, calls, streams },
  };
}

export function ownerOf(text: string | undefined): NodeId | undefined {
  return text === undefined || text === "" ? undefined : (text as NodeId);
}

function parts(list: string): readonly string[] {
  return list === "" ? [] : list.split(",");
}
