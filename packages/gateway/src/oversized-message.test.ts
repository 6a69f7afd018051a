import fc from "fast-check";
import { expect, test } from "vitest";
import { identifyOversized } from "./oversized-message.ts";

const big = "x".repeat(1000);

/** Judge a message of which the first and last characters are there. */
function identify(message: string, headChars = 200, endChars = 100) {
  return identifyOversized(message.slice(0, headChars), message.slice(-endChars));
}

test.each([
  ["id first", `{"jsonrpc":"2.0","id":7,"result":{"text":"${big}"}}`, "7"],
  ["text id", `{"jsonrpc":"2.0","id":"a\\"b","result":{"text":"${big}"}}`, `"a\\"b"`],
  ["id last", `{"jsonrpc":"2.0","result":{"text":"${big}"},"id":7}`, "7"],
  ["id last but one", `{"result":{"text":"${big}"},"id": "q" , "jsonrpc": "2.0"}`, `"q"`],
  [
    "blanks",
    `{ "jsonrpc" : "2.0" , "id" : 12345678901234567890 , "result" : "${big}" }`,
    "12345678901234567890",
  ],
  ["an error", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"${big}"}}`, "7"],
  ["an id inside first", `{"result":{"id":1,"text":"${big}"},"id":7}`, "7"],
  ["an id inside the text", `{"result":"${big},\\"id\\":1}\\"id\\":2}","id":7}`, "7"],
])("a response is told by its id: %s", (_name, message, idJson) => {
  expect(identify(message)).toEqual({ kind: "response", idJson });
});

test.each([
  ["id first", `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":"${big}"}`],
  ["id last", `{"jsonrpc":"2.0","method":"x","params":{"text":"${big}"},"id":7}`],
])("a request is told from a response: %s", (_name, message) => {
  expect(identify(message)).toEqual({ kind: "request", idJson: "7" });
});

test.each([
  ["a notification", `{"jsonrpc":"2.0","method":"x","params":{"text":"${big}","id":7}}`],
  ["an array", `[{"jsonrpc":"2.0","id":7,"result":"${big}"}]`],
  ["no JSON", `id: 7 ${big} "id":7}`],
  ["an id inside last", `{"jsonrpc":"2.0","result":{"text":"${big}","id":7}}`],
  ["no id", `{"jsonrpc":"2.0","result":"${big}"}`],
  ["an id of null", `{"jsonrpc":"2.0","id":null,"error":"${big}"}`],
  ["nothing", ""],
])("nothing is told of %s", (_name, message) => {
  expect(identify(message)).toEqual({ kind: "unknown" });
});

test("cut anywhere, it tells the right id or none", () => {
  const message = `{"jsonrpc":"2.0","id":4711,"result":{"id":1,"a":[{"id":2}],"t":"\\"id\\":3"}}`;
  const other = `{"jsonrpc":"2.0","result":{"id":1,"a":[{"id":2}],"t":",\\"id\\":3}"},"id":4711}`;
  fc.assert(
    fc.property(fc.constantFrom(message, other), fc.nat(80), fc.nat(80), (text, head, end) => {
      const { kind, ...told } = identify(text, head, end === 0 ? undefined : end);
      expect(["response", "unknown"]).toContain(kind);
      expect([undefined, "4711"]).toContain("idJson" in told ? told.idJson : undefined);
    }),
  );
});
