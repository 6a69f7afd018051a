import { acceptEventLog, type LogHarness } from "../src/acceptance/index.ts";
import { memoryLog } from "../src/index.ts";

const harness: LogHarness = {
  // What it holds lives as long as the object: a place is one object.
  place: async () => {
    const log = memoryLog();
    return { log: () => log, remove: async () => {} };
  },
};

acceptEventLog("memory", harness);
