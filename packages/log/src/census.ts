/** How many sessions are live, of each principal and in all; counted as they begin and end. */

export interface Census {
  /** @param by - sessions that began, less those that ended */
  add(principal: string, by: number): void;
  /** @param principal - `undefined` for all */
  count(principal: string | undefined): number;
}

export function createCensus(): Census {
  // Principals with no live session are not kept: there may be any number of them.
  const byPrincipal = new Map<string, number>();
  let total = 0;
  return {
    add: (principal, by) => {
      total += by;
      const count = (byPrincipal.get(principal) ?? 0) + by;
      if (count === 0) byPrincipal.delete(principal);
      else byPrincipal.set(principal, count);
    },
    count: (principal) => (principal === undefined ? total : (byPrincipal.get(principal) ?? 0)),
  };
}
