/**
 * What the outcome of a POST means for its request [C K-09]. Pure. A stream and a JSON answer are
 * read on; everything else becomes an event of the stream.
 */
import { floorMsMax } from "@holdfast/contract";
import type { Moment, StreamEvent } from "../streams/stream-machine.ts";
import type { HttpOutcome } from "./exchange.ts";

export interface PostFacts {
  /** The request names a session: then 404 is about that. */
  readonly isInSession: boolean;
  /** Nothing is answered but that it was accepted. */
  readonly isOneWay: boolean;
  readonly moment: Moment;
}

export type PostVerdict = StreamEvent & {
  readonly type: "answered" | "closed" | "notRun" | "notFound" | "rejected";
};

type Settled = Exclude<HttpOutcome, { readonly kind: "stream" | "json" | "tooLarge" }>;

export function judgePost(outcome: Settled, facts: PostFacts): PostVerdict {
  const { moment } = facts;
  switch (outcome.kind) {
    case "accepted": {
      if (facts.isOneWay || outcome.status !== 200) return { type: "answered" };
      const { contentType } = outcome;
      return { type: "closed", close: { kind: "notEventStream", contentType }, moment };
    }
    case "refused":
      return judgeRefusal(outcome.refusal, facts);
    case "died":
      // Not a byte has left: nothing can have run.
      if (outcome.fault.isUnsent) return { type: "notRun", floorMs: 0, moment };
      return { type: "closed", close: { kind: outcome.fault.by }, moment };
    case "withheld":
      return { type: "rejected", reason: "authorization", isProof: outcome.isProof };
  }
}

function judgeRefusal(
  refusal: Extract<HttpOutcome, { kind: "refused" }>["refusal"],
  { isInSession, moment }: PostFacts,
): PostVerdict {
  const { status, isNotRun, retryAfterMs } = refusal;
  if (status === 401 || status === 403) {
    return { type: "rejected", reason: "authorization", isProof: true };
  }
  if (status === 404 && isInSession) return { type: "notFound" };
  if (status === 429 || (isNotRun && status >= 500)) {
    return { type: "notRun", floorMs: Math.min(retryAfterMs ?? 0, floorMsMax), moment };
  }
  if (status >= 500) return { type: "closed", close: refusal, moment };
  return { type: "rejected", reason: "stream-refused", isProof: true };
}
