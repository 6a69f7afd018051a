import { testSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInitialize, type Message, nameOf, parseMessage } from "./index.ts";

const parse = (text: string) => parseMessage(JSON.parse(text));

describe("messages", () => {
  test.each<[string, string, unknown]>([
    ["a request", '"id":1,"method":"m"', { kind: "request", id: 1, method: "m" }],
    ["an id of zero", '"id":0,"method":"m"', { kind: "request", id: 0, method: "m" }],
    ["an empty id", '"id":"","method":"m"', { kind: "request", id: "", method: "m" }],
    ["a fraction as id", '"id":1.5,"method":"m"', { kind: "request", id: 1.5, method: "m" }],
    [
      "params",
      '"id":"1","method":"m","params":{"a":1}',
      { kind: "request", id: "1", method: "m", params: { a: 1 } },
    ],
    ["a notification", '"method":"m"', { kind: "notification", method: "m" }],
    ["a result", '"id":1,"result":{"a":1}', { kind: "response", id: 1, result: { a: 1 } }],
    ["a null result", '"id":1,"result":null', { kind: "response", id: 1, result: null }],
    [
      "an error",
      '"id":"x","error":{"code":-32603,"message":"no","data":[1]}',
      { kind: "response", id: "x", error: { code: -32603, message: "no", data: [1] } },
    ],
    [
      "an error for no id",
      '"id":null,"error":{"code":1,"message":""}',
      { kind: "response", id: null, error: { code: 1, message: "" } },
    ],
    [
      "an error without id",
      '"error":{"code":1,"message":""}',
      { kind: "response", id: null, error: { code: 1, message: "" } },
    ],
    ["unknown members", '"method":"m","x":1', { kind: "notification", method: "m" }],
  ])("%s", (_name, members, expected) => {
    expect(parse(`{"jsonrpc":"2.0",${members}}`)).toEqual(expected);
  });

  test.each([
    ["null", "null"],
    ["a number", "7"],
    ["a string", '"x"'],
    ["an array", '[{"jsonrpc":"2.0","method":"m"}]'],
    ["no version", '{"id":1,"method":"m"}'],
    ["version 1.0", '{"jsonrpc":"1.0","method":"m"}'],
    ["a version that is a number", '{"jsonrpc":2.0,"method":"m"}'],
    ["nothing else", '{"jsonrpc":"2.0"}'],
    ["an id alone", '{"jsonrpc":"2.0","id":1}'],
    ["a null id", '{"jsonrpc":"2.0","id":null,"method":"m"}'],
    ["an object as id", '{"jsonrpc":"2.0","id":{},"method":"m"}'],
    ["true as id", '{"jsonrpc":"2.0","id":true,"method":"m"}'],
    ["an infinite id", '{"jsonrpc":"2.0","id":1e999,"method":"m"}'],
    ["an empty method", '{"jsonrpc":"2.0","id":1,"method":""}'],
    ["a method that is a number", '{"jsonrpc":"2.0","id":1,"method":1}'],
    ["a null method beside a result", '{"jsonrpc":"2.0","id":1,"method":null,"result":{}}'],
    ["params by position", '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}'],
    ["null params", '{"jsonrpc":"2.0","id":1,"method":"m","params":null}'],
    [
      "a result and an error",
      '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
    ],
    ["a result for no id", '{"jsonrpc":"2.0","id":null,"result":{}}'],
    ["a result without id", '{"jsonrpc":"2.0","result":{}}'],
    ["an error that is text", '{"jsonrpc":"2.0","id":1,"error":"no"}'],
    ["an error without code", '{"jsonrpc":"2.0","id":1,"error":{"message":""}}'],
    ["half an error code", '{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}'],
    ["an error without message", '{"jsonrpc":"2.0","id":1,"error":{"code":1}}'],
    ["an error for an object", '{"jsonrpc":"2.0","id":{},"error":{"code":1,"message":""}}'],
    ["a member named __proto__", '{"jsonrpc":"2.0","__proto__":{"method":"m"}}'],
  ])("%s is no message", (_name, text) => {
    expect(parse(text)).toEqual({ kind: "invalid", problem: expect.stringMatching(/^[A-Z].*\.$/) });
  });

  test("an inherited method is none", () => {
    const value = Object.assign(Object.create({ method: "m" }), { jsonrpc: "2.0" });
    expect(parseMessage(value).kind).toBe("invalid");
  });

  test("any value is told, and none throws", () => {
    const value = fc.oneof(
      fc.anything({ withNullPrototype: true }),
      fc.record(
        {
          jsonrpc: fc.constantFrom("2.0", "1.0", 2),
          id: fc.anything(),
          method: fc.anything(),
          params: fc.anything(),
          result: fc.anything(),
          error: fc.anything(),
        },
        { requiredKeys: [] },
      ),
    );
    const kinds = ["request", "notification", "response", "invalid"];
    const law = fc.property(value, (v) => {
      expect(kinds).toContain(parseMessage(v).kind);
    });
    fc.assert(law, { seed: testSeed("messages"), numRuns: 3000 });
  });
});

describe("what a request is about", () => {
  const request = (method: string, params?: Record<string, unknown>): Message => ({
    kind: "request",
    id: 1,
    method,
    ...(params === undefined ? {} : { params }),
  });

  test.each<[string, Message, string | undefined]>([
    ["a tool", request("tools/call", { name: "charge" }), "charge"],
    ["a prompt", request("prompts/get", { name: "greet" }), "greet"],
    ["a resource", request("resources/read", { uri: "file:///a" }), "file:///a"],
    ["a subscription", request("resources/subscribe", { uri: "file:///a" }), "file:///a"],
    ["the end of one", request("resources/unsubscribe", { uri: "file:///a" }), "file:///a"],
    ["a list", request("tools/list", { name: "x" }), undefined],
    ["no params", request("tools/call"), undefined],
    ["a name that is none", request("tools/call", { name: 7 }), undefined],
    [
      "a notification",
      { kind: "notification", method: "tools/call", params: { name: "x" } },
      undefined,
    ],
    ["a response", { kind: "response", id: 1, result: { name: "x" } }, undefined],
  ])("%s", (_name, message, expected) => {
    expect(nameOf(message)).toBe(expected);
  });

  test("only a request can be an initialize", () => {
    expect(isInitialize(request("initialize"))).toBe(true);
    expect(isInitialize(request("ping"))).toBe(false);
    expect(isInitialize({ kind: "notification", method: "initialize" })).toBe(false);
    expect(isInitialize({ kind: "invalid", problem: "" })).toBe(false);
  });
});
