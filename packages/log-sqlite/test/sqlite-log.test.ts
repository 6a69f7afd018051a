import { acceptEventLog } from "@holdfast/log/acceptance";
import { sqliteHarness } from "./places.ts";

acceptEventLog("sqlite", sqliteHarness());
