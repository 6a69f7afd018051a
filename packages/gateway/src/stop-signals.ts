/**
 * Ctrl-C and SIGTERM: the first asks for a clean end, the second ends at once.
 *
 * One Ctrl-C may arrive twice: the terminal signals every process in front of it, and npm passes
 * its own copy on to the command that it runs. So an echo of a SIGINT is no second one.
 */

/** A SIGINT that follows the first within this is its echo, milliseconds. */
export const echoMs = 300;

export interface StopHandlers {
  stop(): void;
  /** @param exitCode - 128 and the number of the signal */
  abandon(exitCode: number): void;
}

const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof numbers;

/**
 * @param nowMs - a clock that never steps back
 * @returns what to call for each signal
 */
export function stopOnSignals(
  handlers: StopHandlers,
  nowMs: () => number,
): (signal: StopSignal) => void {
  let firstMs: number | undefined;
  return (signal) => {
    if (firstMs === undefined) {
      firstMs = nowMs();
      handlers.stop();
    } else if (signal === "SIGTERM" || nowMs() - firstMs > echoMs) {
      handlers.abandon(128 + numbers[signal]);
    }
  };
}
