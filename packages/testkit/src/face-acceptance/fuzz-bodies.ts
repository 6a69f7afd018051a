/** Bodies of chance: messages that nearly are some, and bytes that are none. */
import type { SeededRandom } from "../seeded-random.ts";
import { oddJson } from "./odd-json.ts";

const methods = [
  ...["ping", "tools/call", "tools/list", "resources/read", "prompts/get", "logging/setLevel"],
  ...["notifications/initialized", "notifications/cancelled", "notifications/progress"],
  ...["completion/complete", "__proto__", "constructor", "toString", "server/discover"],
];

/** A message that is one, more or less. */
export function message(random: SeededRandom): string {
  const odd = oddJson(random, ["", " ", "\t", "\n", "\r\n"]);
  const params = odd.object([
    ["name", odd.value(0)],
    ["requestId", odd.scalar()],
    [
      "_meta",
      odd.object([
        ["progressToken", odd.scalar()],
        ["x", odd.value(2)],
      ]),
    ],
    ["arguments", odd.value(3)],
  ]);
  const members: (readonly [string, string])[] = [["jsonrpc", '"2.0"']];
  const shape = random.int(0, 9);
  if (shape <= 7) members.push(["method", JSON.stringify(random.pick(methods))]);
  if (shape <= 6 || shape >= 8) members.push(["id", odd.scalar()]);
  if (shape <= 7 && random.chance(0.8)) members.push(["params", params]);
  if (shape === 8) members.push(["result", odd.value(3)]);
  if (shape === 9)
    members.push([
      "error",
      odd.object([
        ["code", "-1"],
        ["message", '"m"'],
      ]),
    ]);
  if (random.chance(0.1)) members.push(random.pick(members));
  if (random.chance(0.1)) members.push(["__proto__", '{"method":"ping","id":1}']);
  return odd.object(members);
}

const dictionary = [
  ...[
    '"__proto__":',
    '"id":1,',
    '"id":null',
    "1e999",
    "9".repeat(400),
    "-",
    '"',
    "{",
    "}",
    "[",
    "]",
  ],
  ...[",", ":", "\\u0000", "\\ud800", "\u2028", "\0", "\ufeff", "null", "true", "\\", '"jsonrpc":'],
  ...['"method":"initialize"', '"method":"tools/call"', "\r\n\r\n", "data: x\n\n", "%00", "😀"],
];

export function oddBody(random: SeededRandom): Buffer {
  switch (random.int(0, 6)) {
    case 0: {
      const depth = random.int(1, random.chance(0.1) ? 20_000 : 300);
      const [open, close] = random.pick([
        ["[", "]"],
        ['{"a":', "}"],
        ['[{"params":', "}]"],
      ] as const);
      const nested = `${open.repeat(depth)}1${close.repeat(random.chance(0.8) ? depth : depth - 1)}`;
      const isParams = random.chance(0.5);
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":${nested}}}`;
      return Buffer.from(isParams ? call : nested);
    }
    case 1: {
      const messages = Array.from({ length: random.int(0, 6) }, () => message(random));
      return Buffer.from(`[${messages.join(",")}]`);
    }
    case 2:
      return Buffer.from(oddJson(random, ["", " "]).value(5));
    case 3:
      return random.bytes(random.int(0, 300));
    case 4:
      return Buffer.from(message(random));
    default:
      return mutated(random, Buffer.from(message(random)));
  }
}

/** A few bytes changed, taken out, repeated, put in. */
export function mutated(random: SeededRandom, bytes: Buffer): Buffer {
  let result = bytes;
  for (let i = random.int(1, 4); i > 0; i--) {
    const at = random.int(0, result.length);
    const to = Math.min(result.length, at + random.int(0, 12));
    const before = result.subarray(0, at);
    const middle = result.subarray(at, to);
    const after = result.subarray(to);
    const put = random.pick([
      random.bytes(random.int(1, 4)),
      Buffer.from(random.pick(dictionary)),
      Buffer.concat([middle, middle]),
      Buffer.alloc(0),
    ]);
    result = Buffer.concat([before, put, after]);
  }
  return result;
}
