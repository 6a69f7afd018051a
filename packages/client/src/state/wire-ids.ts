/**
 * Ids on the wire [C K-14]: whole numbers, each given out once over all processes that ever used
 * the state. They serve as JSON-RPC ids, progress tokens, and names of sessions in the state.
 */
import { type ClientState, idBlock } from "./client-state.ts";

export interface WireIds {
  /** @throws ClientError `ERR_STATE_UNAVAILABLE` when a new block cannot be reserved */
  next(): number;
}

export function wireIds(state: Pick<ClientState, "reserveIds">): WireIds {
  let next = state.reserveIds();
  let end = next + idBlock;
  return {
    next: () => {
      if (next === end) {
        next = state.reserveIds();
        end = next + idBlock;
      }
      next += 1;
      return next - 1;
    },
  };
}
