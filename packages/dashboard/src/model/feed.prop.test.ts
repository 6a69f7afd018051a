import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBatch, encodeBatch, type FeedItem } from "./feed.ts";

const tag = fc.stringMatching(/^[0-9a-f]{16}$/);
const atMs = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const small = fc.nat(100_000);
const of = <Kind extends string>(kind: Kind, more: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ kind: fc.constant(kind), tag, atMs, ...more });
const call = fc.record({ method: fc.string({ minLength: 1 }), name: fc.string({ minLength: 1 }) });

const item = fc.oneof(
  of("begun", { client: fc.option(fc.string(), { nil: undefined }) }),
  of("ended", { reason: fc.constantFrom("deleted", "expired", "ended") }),
  of("adopted", {}),
  of("opened", { stream: small, calls: fc.array(call, { minLength: 1, maxLength: 3 }) }),
  of("appended", {
    ...{ stream: small, position: small, through: small, bytes: small },
    event: fc.constantFrom("notification", "request", "response"),
  }),
  of("settled", { stream: small, call: small, outcome: fc.constantFrom("answered", "cancelled") }),
  of("attached", { stream: small, after: small, isResume: fc.boolean() }),
  of("detached", {
    stream: small,
    cause: fc.constantFrom("finished", "disconnected"),
    shown: small,
  }),
  of("gap", {
    ...{ stream: small, from: small, to: small, isInBand: fc.boolean() },
    lostEvents: fc.option(small),
  }),
  fc.record({ kind: fc.constantFrom("started", "stopped", "skipped"), atMs }),
) as fc.Arbitrary<FeedItem>;

test("a batch is read as it was written", () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1 }), (items) => {
      expect(decodeBatch(encodeBatch(items))).toEqual(items);
    }),
  );
});

test("items of a later version are passed over, the others are read", () => {
  const items: FeedItem[] = [{ kind: "started", atMs: 1_700_000_000_000 }];
  const text = encodeBatch(items).replace('"m":[', '"m":[[5,"!",0,1,2],');
  expect(decodeBatch(text)).toEqual(items);
});
