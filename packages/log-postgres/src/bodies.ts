/**
 * The texts of a write, laid end to end in one binary parameter, each named by where it lies: so that
 * a large text is neither escaped nor copied more often than it has to be.
 */

/** Offset from 1, as SQL counts, and length in bytes. */
export type Slice = readonly [at: number, bytes: number];

export interface Bodies {
  add(text: string | Buffer): Slice;
  all(): Buffer;
}

export function createBodies(): Bodies {
  const parts: Buffer[] = [];
  let length = 0;
  return {
    add: (text) => {
      const part = typeof text === "string" ? Buffer.from(text) : text;
      const at = length + 1;
      parts.push(part);
      length += part.length;
      return [at, part.length];
    },
    all: () => Buffer.concat(parts, length),
  };
}
