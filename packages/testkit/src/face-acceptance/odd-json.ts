/**
 * JSON as nobody's serialiser writes it and every parser must take it: odd numbers, escapes,
 * blanks, repeated keys. Seeded; `@` never occurs in it, so that a test can mark places with it.
 */
import type { SeededRandom } from "../seeded-random.ts";

export interface OddJson {
  /** Any JSON value. */
  value(depth?: number): string;
  /** An object with these members, keys given as plain text, in an order of chance. */
  object(members: readonly (readonly [key: string, valueText: string])[]): string;
  /** A string or a number, as ids and tokens are. */
  scalar(): string;
}

const numbers = [
  ...["0", "-0", "0.0", "1e0", "1E+2", "1e-7", "-1.50", "9007199254740993", "0.1", "1e21"],
  ...["123456789012345678901234567890", "3.141592653589793238462643383279", "1e400", "-1e-400"],
];

const pieces = [
  ..."aZ 0~{}[]:,/'<>",
  ...["ä", "\u2028", "\u2029", "\u0085", "😀", "\ufeff", "\u007f", "漢"],
  ...["\\u0041", "\\/", "\\\\", '\\"', "\\n", "\\r", "\\t", "\\b", "\\f", "\\u0000", "\\u2028"],
  ...[
    "\\ud83d\\ude00",
    "\\ud800",
    "\\uDC00",
    "\\u00e9",
    "\\\\u0041",
    '\\\\\\"',
    "id: 1\\n\\ndata:",
  ],
];

const keys = ["id", "params", "_meta", "progressToken", "result", "__proto__", "constructor", ""];

/** @param blanks - what may stand between tokens; the empty text is one of them */
export function oddJson(random: SeededRandom, blanks: readonly string[]): OddJson {
  const many = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: random.int(0, most) }, make);
  const blank = () => (random.chance(0.7) ? "" : many(3, () => random.pick(blanks)).join(""));
  const string = () => `"${many(12, () => random.pick(pieces)).join("")}"`;
  const number = () =>
    random.chance(0.7) ? random.pick(numbers) : String(random.int(-1_000_000, 1_000_000));
  /** Sometimes with a character written as its number. */
  const key = (name: string) => {
    const at = random.int(0, Math.max(name.length - 1, 0));
    if (name === "" || random.chance(0.8)) return JSON.stringify(name);
    const code = name.charCodeAt(at).toString(16).padStart(4, "0");
    return `"${name.slice(0, at)}\\u${code}${name.slice(at + 1)}"`;
  };
  const joined = (open: string, items: readonly string[], close: string) =>
    `${open}${items.map((item) => `${blank()}${item}${blank()}`).join(",")}${close}`;
  const member = (keyText: string, text: string) => `${keyText}${blank()}:${blank()}${text}`;

  const value = (depth = 4): string => {
    const kind = random.int(0, depth > 0 ? 9 : 5);
    if (kind <= 1) return number();
    if (kind <= 3) return string();
    if (kind <= 5) return random.pick(["true", "false", "null"]);
    if (kind <= 7)
      return joined(
        "[",
        many(5, () => value(depth - 1)),
        "]",
      );
    const members = many(5, () => {
      const keyText = random.chance(0.5) ? string() : key(random.pick(keys));
      return member(keyText, value(depth - 1));
    });
    return joined("{", members, "}");
  };
  return {
    value,
    scalar: () => (random.chance(0.5) ? string() : random.pick(numbers.slice(0, 11))),
    object: (members) => {
      const texts = members.map(([name, text]) => member(key(name), text));
      return joined(`${blank()}{`, random.shuffle(texts), `}${blank()}`);
    },
  };
}
