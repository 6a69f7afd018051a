import { compareWithModel } from "@holdfast/log/acceptance";
import { sqliteHarness } from "./places.ts";

compareWithModel("sqlite", sqliteHarness(), { runs: 100 });

// Everything is read again from the file each time: what is kept in memory must agree with it.
compareWithModel("sqlite without a cache", sqliteHarness({ cache: { sessions: 0, streams: 0 } }), {
  runs: 100,
});
