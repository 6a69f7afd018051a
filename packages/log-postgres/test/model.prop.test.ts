import { compareWithModel } from "@holdfast/log/acceptance";
import { postgresUrl } from "@holdfast/testkit";
import { postgresHarness } from "./places.ts";

const database = await postgresUrl();
if (database !== undefined) {
  compareWithModel("postgres", postgresHarness(database), { runs: 20 });
}
