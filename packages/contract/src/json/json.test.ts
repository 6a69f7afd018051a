import { verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { elementsOf, locate, membersOf } from "./locate.ts";
import { removeMember, replaceAt, setMember, textAt } from "./splice.ts";

/** Any JSON value, written with blanks and line breaks between its tokens. */
const written = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom("", " ", "\n", "\t \r\n", "  "))
  .map(([value, blank]) => JSON.stringify(value, null, blank === "" ? undefined : blank));

const key = fc.oneof(
  fc.constantFrom("id", "params", "_meta", "", 'a"b', "\\", "\u2028"),
  fc.string(),
);

describe("locate", () => {
  test("members of any object stand where they are found", () => {
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue()), (object) => {
        for (const text of [JSON.stringify(object), JSON.stringify(object, null, " ")]) {
          const members = membersOf(text);
          expect(members.map((member) => member.key)).toEqual(Object.keys(object));
          for (const { key: name, value } of members) {
            expect(JSON.parse(text.slice(value.start, value.end))).toEqual(
              JSON.parse(JSON.stringify(object[name])),
            );
          }
        }
      }),
    );
  });

  test("elements of any array stand where they are found", () => {
    fc.assert(
      fc.property(fc.array(written), (elements) => {
        const text = ` [${elements.join(" , ")} ]`;
        expect(elementsOf(text).map(({ start, end }) => text.slice(start, end))).toEqual(elements);
      }),
    );
  });

  test("a key that stands twice is found twice, an escaped key is the same key", () => {
    const text = '{"id":1,"\\u0069d": [2] ,"x":{"id":3}}';
    expect(locate(text, "id").map(({ start, end }) => text.slice(start, end))).toEqual([
      "1",
      "[2]",
    ]);
  });

  test("deep nesting does not exhaust the stack", () => {
    const depth = 200_000;
    const text = `{"a":${"[".repeat(depth)}${"]".repeat(depth)},"id":7}`;
    expect(textAt(text, "id")).toBe("7");
  });

  test("a path through something that is no object finds nothing", () => {
    expect(locate("[1]", "id")).toEqual([]);
    expect(locate('"id"', "id")).toEqual([]);
    expect(locate('{"params":7}', "params", "_meta")).toEqual([]);
    expect(elementsOf("{}")).toEqual([]);
  });
});

describe("splice", () => {
  test(`${verifies("E-12")}all but the replaced value stays, character for character`, () => {
    const text = '{ "big":12345678901234567890, "id" :\t7 ,\n"e":"\\u00e9\\/","n":1.0e2}';
    expect(replaceAt(text, ["id"], '"x"')).toBe(text.replace("7 ,", '"x" ,'));
  });

  test("every occurrence of a doubled key is replaced", () => {
    expect(replaceAt('{"id":1,"id":2}', ["id"], "9")).toBe('{"id":9,"id":9}');
  });

  test("a member is set at any depth, whatever is there before", () => {
    const paths: [string, string][] = [
      ["{}", '{"a":{"b":{"c":1}}}'],
      ['{"z":0}', '{"z":0,"a":{"b":{"c":1}}}'],
      ['{"a":{}}', '{"a":{"b":{"c":1}}}'],
      ['{"a":{"b":{"c":0,"d":2}}}', '{"a":{"b":{"c":1,"d":2}}}'],
      ['{"a":{"b":null}}', '{"a":{"b":{"c":1}}}'],
      ['{ "a" : { "y" : [ ] } }', '{ "a" : { "y" : [ ],"b":{"c":1} } }'],
    ];
    for (const [before, after] of paths)
      expect(setMember(before, ["a", "b", "c"], "1")).toBe(after);
  });

  test("setting a member changes the value as assignment would", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), key, (object, name) => {
        fc.pre(name !== "__proto__");
        const text = setMember(JSON.stringify(object), [name], "42");
        expect(JSON.parse(text)).toEqual({ ...JSON.parse(JSON.stringify(object)), [name]: 42 });
      }),
    );
  });

  test("removing a member leaves valid JSON and all the others", () => {
    const names = fc.constantFrom("a", "b", "k");
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.jsonValue())), (members) => {
        const body = members.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
        const inner = `{ ${body.join(" , ")} }`;
        const kept = JSON.parse(inner) as Record<string, unknown>;
        delete kept["k"];
        expect(JSON.parse(removeMember(`{"p":${inner}}`, ["p"], "k"))).toEqual({ p: kept });
      }),
    );
  });
});
