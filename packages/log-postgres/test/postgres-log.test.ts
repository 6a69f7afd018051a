import { acceptEventLog } from "@holdfast/log/acceptance";
import { postgresUrl } from "@holdfast/testkit";
import { postgresHarness } from "./places.ts";

const database = await postgresUrl();
if (database !== undefined) acceptEventLog("postgres", postgresHarness(database));
