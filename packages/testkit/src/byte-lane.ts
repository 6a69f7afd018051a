/**
 * Carries bytes from one socket to the other, in order, perhaps late, in bounded memory.
 *
 * Reads no more while the receiver is slow, so that a slow reader is felt at the other end.
 */
import type { Socket } from "node:net";

export interface ByteLane {
  /**
   * Send bytes on; `undefined` is the sender's end of stream.
   *
   * @param written - called once the kernel has them
   */
  carry(bytes: Uint8Array | undefined, written?: () => void): void;
  /** Go on after the lane was shut. */
  wake(): void;
}

interface LatePiece {
  readonly bytes: Uint8Array | undefined;
  readonly dueMs: number;
  readonly written: (() => void) | undefined;
}

const heldBytesMax = 256 * 1024;

/**
 * @param delayMs - asked for each piece
 * @param isOpen - false: nothing is read, and what is late stays where it is
 */
export function byteLane(
  from: Socket,
  to: Socket,
  delayMs: () => number,
  isOpen: () => boolean,
): ByteLane {
  const late: LatePiece[] = [];
  let lateBytes = 0;

  const isFull = () => lateBytes > heldBytesMax || to.writableNeedDrain;
  const wake = () => {
    if (!isOpen()) return;
    const now = performance.now();
    for (let first = late[0]; first !== undefined && first.dueMs <= now; first = late[0]) {
      late.shift();
      lateBytes -= first.bytes?.length ?? 0;
      write(to, first.bytes, first.written);
    }
    if (!isFull()) from.resume();
  };
  to.on("drain", wake);

  return {
    wake,
    carry: (bytes, written) => {
      const now = performance.now();
      const waitMs = delayMs();
      if (waitMs === 0 && late.length === 0) write(to, bytes, written);
      else {
        // A piece never overtakes the one before it, also when the delay has just shrunk.
        const dueMs = Math.max(now + waitMs, late.at(-1)?.dueMs ?? 0);
        late.push({ bytes, dueMs, written });
        lateBytes += bytes?.length ?? 0;
        setTimeout(wake, Math.ceil(dueMs - now));
      }
      if (isFull()) from.pause();
    },
  };
}

function write(to: Socket, bytes: Uint8Array | undefined, written: (() => void) | undefined): void {
  if (to.destroyed || to.writableEnded) return;
  if (bytes === undefined) to.end(written);
  else to.write(bytes, () => written?.());
}
