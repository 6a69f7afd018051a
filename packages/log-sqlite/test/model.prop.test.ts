import { compareWithModel } from "@holdfast/log/acceptance";
import { sqliteHarness } from "./places.ts";

compareWithModel("sqlite", sqliteHarness(), { runs: 200 });
