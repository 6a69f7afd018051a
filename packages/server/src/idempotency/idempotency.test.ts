import { verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readIncoming } from "../incoming.ts";
import { readKey } from "./key.ts";
import { canonicalJson, payloadDigest } from "./payload.ts";

const call = (params: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
const digest = (params: string) => payloadDigest("tools/call", call(params));

describe("payload digest", () => {
  test(`${verifies("X-03")}is one for one JSON value, however it is written`, () => {
    const plain = '{"name":"pay","arguments":{"amount":10,"to":"é","list":[1,2]}}';
    const others = [
      '{ "arguments" : { "to":"\\u00e9" , "list":[ 1 , 2 ], "amount":1.0e1 } ,\n"name":"pay" }',
      '{"_meta":{"progressToken":7},"name":"pay","arguments":{"amount":10.0,"to":"é","list":[1,2]}}',
      '{"name":"x","name":"pay","arguments":{"amount":100e-1,"to":"é","list":[1,2]}}',
    ];
    for (const other of others) expect(digest(other)).toBe(digest(plain));
  });

  test(`${verifies("X-03")}differs for another value, also beyond 2^53`, () => {
    const one = digest('{"arguments":{"n":12345678901234567890}}');
    expect(digest('{"arguments":{"n":12345678901234567891}}')).not.toBe(one);
    expect(digest('{"arguments":{"n":"12345678901234567890"}}')).not.toBe(one);
    expect(payloadDigest("prompts/get", call('{"arguments":{"n":12345678901234567890}}'))).not.toBe(
      one,
    );
    expect(digest('{"list":[1,2]}')).not.toBe(digest('{"list":[2,1]}'));
    expect(digest('{"a":null}')).not.toBe(digest("{}"));
  });

  test("canonical JSON is the same for the same value, and still that value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const canonical = canonicalJson(JSON.stringify(value));
        expect(canonicalJson(JSON.stringify(value, null, "\t"))).toBe(canonical);
        expect(JSON.parse(canonical ?? "")).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

test("a payload that is nested beyond the bound has no digest, whatever its size", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  expect(digest(nested(900))).toMatch(/^[0-9a-f]{64}$/);
  expect(digest(nested(1_000_000))).toBeUndefined();
});

describe("idempotency key", () => {
  const request = (meta: string) => {
    const text = call(`{"name":"pay","_meta":${meta}}`);
    const message = readIncoming(text, JSON.parse(text));
    if (message.kind === "invalid") throw new Error(message.problem);
    return message;
  };
  const inMeta = (key: string) => request(`{"dev.holdfast/idempotency-key":${key}}`);

  test(`${verifies("X-03")}comes from the header or from _meta; both must agree`, () => {
    expect(readKey("k", [request("{}")], false, 1)).toEqual({ kind: "key", key: "k" });
    expect(readKey(undefined, [inMeta('"k"')], false, 1)).toEqual({ kind: "key", key: "k" });
    expect(readKey("k", [inMeta('"k"')], false, 1)).toEqual({ kind: "key", key: "k" });
    expect(readKey("k", [inMeta('"other"')], false, 1).kind).toBe("invalid");
    expect(readKey(undefined, [request("{}")], false, 16)).toEqual({ kind: "key", key: undefined });
  });

  test(`${verifies("X-03")}is 1 to 255 characters of visible ASCII, and never of an array`, () => {
    for (const bad of ["", "a b", "é", "x".repeat(256), "a\u0000"]) {
      expect(readKey(bad, [request("{}")], false, 1).kind).toBe("invalid");
    }
    expect(readKey("x".repeat(255), [request("{}")], false, 1).kind).toBe("key");
    expect(readKey(undefined, [inMeta("7")], false, 1).kind).toBe("invalid");
    expect(readKey("k", [request("{}")], true, 1).kind).toBe("invalid");
    expect(readKey(undefined, [inMeta('"k"'), request("{}")], true, 1).kind).toBe("invalid");
  });

  test(`${verifies("X-03")}has 16 characters where all callers share it`, () => {
    expect(readKey("k".repeat(15), [request("{}")], false, 16).kind).toBe("invalid");
    expect(readKey("k".repeat(16), [request("{}")], false, 16).kind).toBe("key");
  });
});
