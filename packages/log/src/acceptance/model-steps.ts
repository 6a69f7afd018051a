/**
 * What the model test may do, as values that fast-check makes and shrinks.
 *
 * A step says what it wants by number; against the state of the model it becomes operations. It may
 * make no sense then: that too must come out alike.
 */
import type { EventPlace } from "@holdfast/contract";
import fc from "fast-check";
import type { Op, ReadLimit, RestLimits, SessionState, StreamState } from "../event-log.ts";
import { callOf, opening } from "./scene.ts";

type Part =
  | { readonly part: "open"; readonly skip: number; readonly calls: number }
  | { readonly part: "keyed"; readonly key: number; readonly isRerun: boolean }
  | {
      readonly part: "append";
      readonly pick: number;
      readonly isRequest: boolean;
      readonly size: number;
    }
  | {
      readonly part: "respond";
      readonly pick: number;
      readonly size: number;
      readonly isUnknown: boolean;
    }
  | { readonly part: "cancel"; readonly pick: number }
  | { readonly part: "written"; readonly pick: number; readonly position: number }
  | { readonly part: "record" }
  | { readonly part: "touch"; readonly isUsed: boolean }
  | { readonly part: "next"; readonly calls: number }
  | { readonly part: "send"; readonly size: number }
  | { readonly part: "attach"; readonly pick: number }
  | { readonly part: "end" };

export type Step =
  | { readonly step: "create"; readonly session: number }
  | {
      readonly step: "commit";
      readonly session: number;
      readonly parts: readonly Part[];
      /** As a node that does not own the session. */
      readonly isUnfenced?: boolean;
    }
  | {
      readonly step: "take";
      readonly session: number;
      readonly isAgain: boolean;
      readonly limit: ReadLimit;
    }
  | { readonly step: "repeat"; readonly back: number }
  | {
      readonly step: "read";
      readonly session: number;
      readonly pick: number;
      readonly twist: Twist;
      readonly limit: ReadLimit;
    }
  | { readonly step: "advance"; readonly byMs: number }
  | { readonly step: "rested"; readonly limits: RestLimits }
  | { readonly step: "sweep" }
  | { readonly step: "reopen" };

type Twist = "none" | "earlier" | "later" | "incarnation" | "tag" | "stream";

export const sessionNames = ["one", "two", "three"];
export const keyNames = ["k0", "k1", "k2"];

const small = fc.nat({ max: 60 });
const pick = fc.nat({ max: 1_000 });
const session = fc.nat({ max: sessionNames.length - 1 });

const append = fc.record({
  part: fc.constant("append" as const),
  pick,
  isRequest: fc.boolean(),
  size: small,
});

const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 6, arbitrary: append },
  {
    weight: 3,
    arbitrary: fc.record({
      part: fc.constant("open" as const),
      skip: fc.nat({ max: 2 }),
      calls: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      part: fc.constant("keyed" as const),
      key: fc.nat({ max: keyNames.length - 1 }),
      isRerun: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      part: fc.constant("respond" as const),
      pick,
      size: small,
      isUnknown: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ part: fc.constant("cancel" as const), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ part: fc.constant("written" as const), pick, position: small }),
  },
  { weight: 1, arbitrary: fc.record({ part: fc.constant("record" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ part: fc.constant("touch" as const), isUsed: fc.boolean() }),
  },
);

const twist = fc.constantFrom<Twist>(
  ...(["none", "none", "none", "earlier", "later", "incarnation", "tag", "stream"] as const),
);

const limits = fc.record({
  idleTtlMs: fc.constantFrom(0, 300, 1_500),
  unusedTtlMs: fc.constantFrom(0, 200),
  touchLagMs: fc.constantFrom(0, 50),
  // All: of those that wait equally long, any may come first.
  sessions: fc.constant(sessionNames.length),
});

const limit = fc.record({ events: fc.integer({ min: 1, max: 9 }), bytes: fc.nat({ max: 200 }) });

/** What any node may do in a shared log. */
const partOfAny: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ part: fc.constant("next" as const), calls: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ part: fc.constant("send" as const), size: small }),
  fc.record({ part: fc.constant("attach" as const), pick }),
);

const sharedStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("commit" as const),
      session,
      parts: fc.array(
        fc.oneof({ weight: 9, arbitrary: partOfAny }, { weight: 1, arbitrary: part }),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      isUnfenced: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("take" as const),
      session,
      isAgain: fc.boolean(),
      limit,
    }),
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ step: fc.constant("create" as const), session }) },
  {
    weight: 20,
    arbitrary: fc.record({
      step: fc.constant("commit" as const),
      session,
      parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("commit" as const),
      session,
      parts: fc.constant<Part[]>([{ part: "end" }]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant("repeat" as const), back: fc.nat({ max: 9 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant("read" as const),
      session,
      pick,
      twist,
      limit,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("advance" as const),
      byMs: fc.oneof(fc.nat({ max: 700 }), fc.constantFrom(60_000, 86_400_000)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ step: fc.constant("rested" as const), limits }) },
  { weight: 3, arbitrary: fc.record({ step: fc.constant("sweep" as const) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant("reopen" as const) }) },
);

export function steps(isShared: boolean): fc.Arbitrary<Step[]> {
  const one = isShared
    ? fc.oneof({ weight: 2, arbitrary: step }, { weight: 1, arbitrary: sharedStep })
    : step;
  // As many as are allowed, as often as few: by itself fast-check prefers short lists.
  return fc.array(one, { minLength: 1, maxLength: 60, size: "max" });
}

/** @param states - of the session's streams, rising; none if the session is not there */
export function opsOf(
  parts: readonly Part[],
  state: SessionState | undefined,
  states: readonly StreamState[],
): Op[] {
  let next = state?.nextStream ?? 1;
  const stream = (n: number) => states[n % Math.max(states.length, 1)]?.stream ?? n;
  const running = states.flatMap(({ stream, calls }) =>
    calls.flatMap(({ state }, call) => (state === "running" ? [{ stream, call }] : [])),
  );
  const call = (n: number) => running[n % Math.max(running.length, 1)] ?? { stream: 1, call: 0 };
  // The standalone stream, and those with a running call: others refuse.
  const open = [0, ...new Set(running.map((one) => one.stream))];
  const opOf = (one: Part): Op => {
    switch (one.part) {
      case "open":
        next += one.skip + 1;
        return opening(next - 1, one.calls);
      case "keyed": {
        next += 1;
        const key = keyNames[one.key] ?? "";
        const claim = { scope: "all", key, digest: `${next}`, isRerun: one.isRerun };
        // The second call of its stream, so that a stream outlasts its key's call now and then.
        const [stream, first] = [next - 1, callOf(next - 1, 0)];
        const second = { ...callOf(stream, 1), claim };
        return { op: "open", stream, calls: one.key === 0 ? [second] : [first, second] };
      }
      case "append": {
        const kind = one.isRequest ? "request" : "notification";
        // Seldom, one that is finished.
        const target = one.pick % 50 === 0 ? stream(one.pick) : open[one.pick % open.length];
        return { op: "append", stream: target ?? 0, kind, text: "ä".repeat(one.size) };
      }
      case "respond":
        return {
          ...{ op: "append", kind: "response", text: "r".repeat(one.size) },
          ...call(one.pick),
          ...(one.isUnknown ? { unknown: "upstream-exited" } : {}),
        };
      case "cancel":
        return { op: "cancel", ...call(one.pick) };
      case "written": {
        const state = states[one.pick % Math.max(states.length, 1)];
        const position = one.position % ((state?.head ?? 0) + 1);
        return { op: "written", stream: state?.stream ?? 0, position };
      }
      case "record":
        return { op: "record", data: `after ${next}` };
      case "touch":
        return { op: "touch", isUsed: one.isUsed };
      case "next":
        next += 1;
        return { ...opening(next - 1, one.calls), stream: "next" };
      case "send":
        return { op: "send", text: "s".repeat(one.size) };
      case "attach":
        return { op: "attach", stream: stream(one.pick), viewer: `viewer ${one.pick}` };
      case "end":
        return { op: "end", reason: "ended" };
    }
  };
  return parts.map(opOf);
}

/** A cursor that somebody may show: one that was given out, or one that never was. */
export function cursorOf(
  { pick, twist }: Extract<Step, { step: "read" }>,
  known: readonly EventPlace[],
): EventPlace {
  const place = known[pick % Math.max(known.length, 1)] ?? nowhere;
  const other = known[(pick * 7) % Math.max(known.length, 1)] ?? nowhere;
  switch (twist) {
    case "none":
      return place;
    case "earlier":
      return { ...place, position: Math.max(0, place.position - (pick % 5)) };
    case "later":
      return { ...place, position: place.position + (pick % 5) };
    case "incarnation":
      return { ...place, incarnation: other.incarnation };
    case "tag":
      return { ...place, tag: other.tag };
    case "stream":
      return { ...place, stream: place.stream + (pick % 4) };
  }
}

const nowhere: EventPlace = {
  tag: "0000000000000000",
  stream: 0,
  position: 0,
  incarnation: "aaaaaaaa",
};
