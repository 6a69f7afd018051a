/**
 * What a test leaves behind is taken away: `afterEach(disposeAll)`.
 *
 * Everything of the testkit that holds a socket, a process or a directory enters itself here.
 */

type Undo = () => void | Promise<void>;
const undos = new Set<Undo>();

/**
 * @param undo - may be called when the thing is gone already
 * @returns takes the entry out again
 */
export function onDispose(undo: Undo): () => void {
  undos.add(undo);
  return () => void undos.delete(undo);
}

/** Undo everything, newest first; failures come together at the end. */
export async function disposeAll(): Promise<void> {
  const failures: unknown[] = [];
  for (const undo of [...undos].reverse()) {
    undos.delete(undo);
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "not everything could be taken away");
}
