/**
 * Wait for something, but no longer than that.
 *
 * @returns false when it did not come in time
 */
export async function within(ms: number, done: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([done.then(() => true), deadline]);
  } finally {
    clearTimeout(timer);
  }
}
