/**
 * State that dies with the process. A second transport can take it over once the first is closed:
 * what holds for a restart holds for it.
 */
import { ClientError } from "../client-errors.ts";
import { type ClientState, idBlock } from "./client-state.ts";
import { stateModel } from "./state-model.ts";

/** Keep the state in memory [C K-03 holds only while the process lives]. */
export function memoryState(): ClientState {
  const model = stateModel();
  let nextId = 1;
  let isOpen = false;
  return {
    isDurable: false,
    open: () => {
      if (isOpen) {
        throw new ClientError("ERR_STATE_LOCKED", "Another transport holds this state.", {
          hint: "Close that transport first, or give each one a state of its own.",
        });
      }
      isOpen = true;
      return model.read();
    },
    reserveIds: () => {
      const first = nextId;
      nextId += idBlock;
      return first;
    },
    commit: (changes) => changes.forEach(model.apply),
    close: () => {
      isOpen = false;
    },
  };
}
