import { verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineFramer, endBytesMax, type Framed, headBytesMax } from "./line-framing.ts";

/** Feed the bytes in pieces of these sizes, again and again. */
function frame(bytes: Buffer, sizes: readonly number[], bytesMax: number): Framed[] {
  const framer = createLineFramer(bytesMax);
  const framed: Framed[] = [];
  for (let from = 0, i = 0; from < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    // A copy: a framer may not rely on the memory of a chunk after its push.
    const chunk = Buffer.from(bytes.subarray(from, from + size));
    framed.push(...framer.push(chunk));
    chunk.fill(0x58);
    from += size;
  }
  framed.push(...framer.end());
  return framed;
}

const line = fc
  .string({ unit: "binary", maxLength: 60 })
  .map((text) => text.replace(/[\r\n]/g, ""));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

test(`${verifies("E-07", "E-12")}lines come out whole and in order, whatever the chunking`, () => {
  fc.assert(
    fc.property(fc.array(line), sizes, fc.constantFrom("\n", "\r\n"), (lines, pieces, ending) => {
      const bytes = Buffer.from(lines.map((each) => each + ending).join(""));
      const wanted = lines.map((text) => ({ kind: "line", text: Buffer.from(text).toString() }));
      expect(frame(bytes, pieces, 1 << 20)).toEqual(wanted);
    }),
  );
});

test("a line over the limit shows its ends and its length, and the others come whole", () => {
  const bytesMax = 16;
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 40 })),
      sizes,
      (lines, pieces) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
        const framed = frame(bytes, pieces, bytesMax);
        expect(framed.map((each) => (each.kind === "line" ? each.text : each.bytes))).toEqual(
          lines.map((each) => (each.length <= bytesMax ? each : each.length)),
        );
        for (const [i, each] of framed.entries()) {
          if (each.kind !== "oversized") continue;
          expect(lines[i]?.startsWith(each.head)).toBe(true);
          expect(each.end).toBe(lines[i]);
        }
      },
    ),
  );
});

test("of a very long line 64 KB of the beginning and 4 KB of the end are kept, no more", () => {
  const bytes = Buffer.from(`${"a".repeat(300_000)}${"z".repeat(5000)}\nnext\n`);
  for (const size of [1000, 65_536, 400_000]) {
    const [oversized, next] = frame(bytes, [size], 200_000);
    expect(oversized).toEqual({
      kind: "oversized",
      head: "a".repeat(headBytesMax),
      end: "z".repeat(endBytesMax),
      bytes: 305_000,
    });
    expect(next).toEqual({ kind: "line", text: "next" });
  }
});

test("the last line needs no LF", () => {
  expect(frame(Buffer.from("one\ntwo"), [3], 100).at(-1)).toEqual({ kind: "line", text: "two" });
});

test(`${verifies("c038")}each byte of a long line is copied a bounded number of times`, () => {
  // 32 MB in pieces as a pipe gives them; a framer that joined text at each would copy 8 GB.
  const piece = Buffer.alloc(65_536, 0x61);
  const framer = createLineFramer(32 * 2 ** 20);
  const concat = Buffer.concat;
  let copied = 0;
  const copy = Buffer.prototype.copy;
  Buffer.prototype.copy = function counting(this: Buffer, ...args: Parameters<Buffer["copy"]>) {
    const bytes = copy.apply(this, args);
    copied += bytes;
    return bytes;
  };
  Buffer.concat = () => {
    throw new Error("nothing is joined below the limit");
  };
  try {
    for (let i = 0; i < 512; i++) expect([...framer.push(piece)]).toEqual([]);
    const [whole] = framer.push(Buffer.from("\n"));
    expect(whole?.kind === "line" && whole.text.length).toBe(32 * 2 ** 20);
  } finally {
    Buffer.prototype.copy = copy;
    Buffer.concat = concat;
  }
  expect(copied).toBeLessThan(3 * 32 * 2 ** 20);
});
