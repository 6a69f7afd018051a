/** Circles in a graph of files that import each other. */

/**
 * @param imports - for each file the files that it loads
 * @returns each circle once, as the files along it, beginning with the first by name
 */
export function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles = new Map<string, string[]>();
  const done = new Set<string>();
  const path: string[] = [];

  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      const cycle = fromFirst(path.slice(at));
      cycles.set(cycle.join(), cycle);
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const next of imports.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of [...imports.keys()].sort()) visit(file);
  return [...cycles.values()];
}

function fromFirst(cycle: readonly string[]): string[] {
  const first = cycle.indexOf([...cycle].sort()[0] ?? "");
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
