/**
 * What happens in sessions, as told to whoever watches: the raw material of a session's timeline.
 *
 * [C P-03] A session is named by its tag; ids, keys and message bodies are in no mark.
 */

import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { EndReason, EventKind } from "@holdfast/log";
import type { ViewportEnd } from "../viewport.ts";

/** How a call ended: with a response, without one on purpose, or nobody knows how [C X-05]. */
export type CallOutcome = "answered" | "cancelled" | OutcomeUnknownReason;

/** Method and name of the tool, prompt or resource. */
export interface MarkedCall {
  readonly method: string;
  readonly name?: string;
}

export type Mark =
  | { readonly kind: "begun"; readonly tag: string; readonly client: string | undefined }
  | { readonly kind: "ended"; readonly tag: string; readonly reason: EndReason }
  /** Another node takes the session over from the one that is gone. */
  | { readonly kind: "adopted"; readonly tag: string }
  | {
      readonly kind: "opened";
      readonly tag: string;
      readonly stream: number;
      readonly calls: readonly MarkedCall[];
    }
  | {
      readonly kind: "appended";
      readonly tag: string;
      readonly stream: number;
      readonly position: number;
      readonly event: EventKind;
      readonly bytes: number;
    }
  | {
      readonly kind: "settled";
      readonly tag: string;
      readonly stream: number;
      readonly call: number;
      readonly outcome: CallOutcome;
    }
  | {
      readonly kind: "attached";
      readonly tag: string;
      readonly stream: number;
      /** The reader has everything up to here. */
      readonly after: number;
      /** It is not the first viewport of its stream that is known here. */
      readonly isResume: boolean;
    }
  | {
      readonly kind: "detached";
      readonly tag: string;
      readonly stream: number;
      readonly cause: ViewportEnd;
      /** Events up to here were handed to its socket. */
      readonly shown: number;
    }
  | {
      readonly kind: "gap";
      readonly tag: string;
      readonly stream: number;
      /** Events after `from`, up to `to`, are lost to this reader. */
      readonly from: number;
      readonly to: number;
      readonly lostEvents: number | null;
      readonly isInBand: boolean;
    };

/** Called in the middle of things: it must be quick and must not throw. */
export type Observe = (mark: Mark) => void;
