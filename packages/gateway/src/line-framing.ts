/**
 * Bytes of a pipe in, lines out, whatever the chunking. One buffer that doubles holds the line
 * that is not whole yet, so the cost is linear in the bytes and the memory is bounded by the limit.
 *
 * Of a line over the limit the beginning and the end are kept, enough to tell whose it was.
 */

export type Framed =
  | { readonly kind: "line"; readonly text: string }
  | {
      readonly kind: "oversized";
      /** The first {@link headBytesMax} and the last {@link endBytesMax} bytes, as text. */
      readonly head: string;
      readonly end: string;
      readonly bytes: number;
    };

export interface LineFramer {
  /** The lines that this chunk completes, without LF or CR LF; decoded one by one as asked for. */
  push(chunk: Buffer): Iterable<Framed>;
  /** At the end of input: the last line, when no LF closed it. */
  end(): Iterable<Framed>;
}

export const headBytesMax = 64 * 1024;
export const endBytesMax = 4 * 1024;

/** A pending line that outgrew this gives its memory back when it is complete. */
const keptBytesMax = 1024 * 1024;

const lf = 0x0a;
const cr = 0x0d;

/** @param bytesMax - the longest line, without its LF; at least 1 */
export function createLineFramer(bytesMax: number): LineFramer {
  let pending = Buffer.allocUnsafe(4096);
  let pendingBytes = 0;
  /** Set while the line being read is over the limit: what is kept of it. */
  let oversized: { head: string; end: Buffer; bytes: number } | undefined;

  function hold(part: Buffer): void {
    if (oversized !== undefined) {
      oversized.end = lastBytes(oversized.end, part);
      oversized.bytes += part.length;
      return;
    }
    if (pendingBytes + part.length > bytesMax) {
      const before = pending.subarray(0, pendingBytes);
      oversized = {
        head: firstText(before, part),
        end: lastBytes(before, part),
        bytes: before.length + part.length,
      };
      release();
      return;
    }
    if (pendingBytes + part.length > pending.length) {
      const grown = Buffer.allocUnsafe(Math.max(pending.length * 2, pendingBytes + part.length));
      pending.copy(grown, 0, 0, pendingBytes);
      pending = grown;
    }
    part.copy(pending, pendingBytes);
    pendingBytes += part.length;
  }

  function release(): void {
    pendingBytes = 0;
    if (pending.length > keptBytesMax) pending = Buffer.allocUnsafe(4096);
  }

  function complete(): Framed {
    if (oversized !== undefined) {
      const { head, end, bytes } = oversized;
      oversized = undefined;
      return { kind: "oversized", head, end: decode(end), bytes };
    }
    const text = decode(pending.subarray(0, pendingBytes));
    release();
    return { kind: "line", text };
  }

  return {
    *push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(lf); at >= 0; at = chunk.indexOf(lf, from)) {
        const part = chunk.subarray(from, at);
        from = at + 1;
        if (pendingBytes === 0 && oversized === undefined && part.length <= bytesMax) {
          yield { kind: "line", text: decode(part) };
        } else {
          hold(part);
          yield complete();
        }
      }
      if (from < chunk.length) hold(chunk.subarray(from));
    },
    *end() {
      if (pendingBytes > 0 || oversized !== undefined) yield complete();
    },
  };
}

function decode(line: Buffer): string {
  const length = line.at(-1) === cr ? line.length - 1 : line.length;
  return line.toString("utf8", 0, length);
}

function firstText(before: Buffer, after: Buffer): string {
  const first = [before.subarray(0, headBytesMax), after.subarray(0, headBytesMax)];
  return Buffer.concat(first).toString("utf8", 0, headBytesMax);
}

/** The last {@link endBytesMax} bytes of the two together, in memory of their own. */
function lastBytes(before: Buffer, after: Buffer): Buffer {
  return Buffer.concat([before.subarray(-endBytesMax), after.subarray(-endBytesMax)]).subarray(
    -endBytesMax,
  );
}
