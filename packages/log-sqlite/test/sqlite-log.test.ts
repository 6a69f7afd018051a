import { acceptEventLog, acceptLedgerBound } from "@holdfast/log/acceptance";
import { sqliteHarness } from "./places.ts";

acceptEventLog("sqlite", sqliteHarness());
acceptLedgerBound("sqlite", sqliteHarness());
