/** What the workload of the soak did and saw, in order, for the checker to judge: plain facts. */
import type { RpcMessage } from "@holdfast/testkit";

export interface Posted {
  readonly kind: "posted";
  /** Names the POST. */
  readonly post: number;
  readonly session: string;
  /** What the call notes as its effect; calls under one key share it. */
  readonly label: string;
  readonly key: string | undefined;
  readonly steps: number;
}

export type Fact =
  | Posted
  /** The POST was answered with this status, or with nothing; a 200 names its first event id. */
  | {
      readonly kind: "answered";
      readonly post: number;
      readonly status: number | undefined;
      readonly isNotRun: boolean;
      readonly first: string | undefined;
    }
  /** An event with a message, shown to a reader of a stream. */
  | {
      readonly kind: "event";
      readonly session: string;
      readonly id: string;
      readonly text: string;
      /** The cursor with which its viewport began. */
      readonly after: string;
    }
  /** A refused cursor: events up to `to` are said to be lost. */
  | {
      readonly kind: "gap";
      readonly session: string;
      readonly from: string;
      readonly to: string;
      readonly lost: number | null;
    }
  /** A whole stream, read from its beginning when everything was over. */
  | {
      readonly kind: "replayed";
      readonly session: string;
      readonly first: string;
      readonly ids: readonly string[];
      readonly isOver: boolean;
    };

export function messageIn(fact: Extract<Fact, { readonly kind: "event" }>): RpcMessage {
  return JSON.parse(fact.text) as RpcMessage;
}
