/**
 * Waiting for what is announced, never for time to have passed.
 *
 * Each wait has a generous deadline whose only use is to say what did not come. There is no
 * helper that asks again and again: what a test must wait for, the code under test announces.
 */
import type { EventEmitter } from "node:events";

/** How long a test waits for something that must come; shorter where tests are to fail. */
export const patienceMs = Number(process.env.HOLDFAST_PATIENCE_MS ?? 20_000);

/**
 * @param what - what is waited for, as it goes into "waited 20000 ms for …"
 * @throws Error when the deadline comes first
 */
export async function within<T>(
  promise: PromiseLike<T>,
  what: string,
  deadlineMs = patienceMs,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  // Made here: the stack then leads to the test that waits.
  const late = new Error(`waited ${deadlineMs} ms for ${what}`);
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), deadlineMs);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** The arguments of the emitter's next such event that `matches`. */
export function waitFor(
  emitter: EventEmitter,
  event: string,
  matches: (...args: unknown[]) => boolean = () => true,
): Promise<unknown[]> {
  let listener: (...args: unknown[]) => void = () => {};
  const arrived = new Promise<unknown[]>((resolve) => {
    listener = (...args) => {
      if (matches(...args)) resolve(args);
    };
    emitter.on(event, listener);
  });
  return within(arrived, `the event "${event}"`).finally(() => emitter.off(event, listener));
}

/** Something that happens again and again, and can be waited for. */
export interface Signal<T> {
  emit(value: T): void;
  /** The next one after this call that `matches`: call it before causing the event. */
  next(matches?: (value: T) => boolean): Promise<T>;
}

/** @param name - of one happening: "cut", "connection" */
export function signal<T>(name: string): Signal<T> {
  const waiting = new Set<(value: T) => void>();
  return {
    emit: (value) => {
      for (const offer of [...waiting]) offer(value);
    },
    next: (matches = () => true) => {
      let offer: (value: T) => void = () => {};
      const arrived = new Promise<T>((resolve) => {
        offer = (value) => {
          if (matches(value)) resolve(value);
        };
        waiting.add(offer);
      });
      return within(arrived, `the next ${name}`).finally(() => waiting.delete(offer));
    },
  };
}
