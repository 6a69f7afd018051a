/** The acceptance suite of event logs: what every log must do, one file a chapter. */
import { disposeAll } from "@holdfast/testkit";
import { afterEach, describe } from "vitest";
import { across } from "./across.ts";
import { atomicCommit } from "./atomic-commit.ts";
import { bounds } from "./bounds.ts";
import { concurrent } from "./concurrent.ts";
import { crash } from "./crash.ts";
import { cursors } from "./cursors.ts";
import { endings } from "./endings.ts";
import { fencing } from "./fencing.ts";
import type { LogHarness, LogPlace } from "./harness.ts";
import { inbox } from "./inbox.ts";
import { keys } from "./keys.ts";
import { leases } from "./leases.ts";
import { listing } from "./listing.ts";
import { olderCopy } from "./older-copy.ts";
import { order } from "./order.ts";
import { prefix } from "./prefix.ts";
import { readYourAppend } from "./read-your-append.ts";
import { reopen } from "./reopen.ts";
import { rest } from "./rest.ts";
import { resume } from "./resume.ts";
import { running } from "./running.ts";
import { lostWakes, unreachable } from "./unreachable.ts";

export { type CutLog, cuttable } from "./cut-log.ts";
export type { LogHarness, LogPlace, SharedHarness } from "./harness.ts";
export { acceptLedgerBound } from "./ledger-bound.ts";
export { compareWithModel } from "./model.ts";
export { type NodesHarness, openNodes } from "./nodes-scene.ts";
export {
  creation,
  idempotencyTtlMs,
  keyed,
  notification,
  numbered,
  opening,
  openScene,
  response,
  roomy,
  type Scene,
} from "./scene.ts";
export { lostWakes, unreachable } from "./unreachable.ts";

/**
 * Tell the tests of every chapter that the log's harness allows; call it in a test file.
 *
 * @param name - of the log, as it heads the tests
 */
export function acceptEventLog<Place extends LogPlace>(
  name: string,
  harness: LogHarness<Place>,
): void {
  describe(`event log: ${name}`, () => {
    afterEach(disposeAll);
    order(harness);
    readYourAppend(harness);
    atomicCommit(harness);
    bounds(harness);
    prefix(harness);
    cursors(harness);
    concurrent(harness);
    keys(harness);
    running(harness);
    rest(harness);
    listing(harness);
    endings(harness);
    reopen(harness);
    resume(harness);
    acceptShared(harness);
    if (harness.copy !== undefined) olderCopy(harness, harness.copy);
    if (harness.spawnWriter !== undefined) crash(harness, harness.spawnWriter);
  });
}

function acceptShared<Place extends LogPlace>(harness: LogHarness<Place>): void {
  const { shared } = harness;
  if (shared === undefined) return;
  const ofNodes = { ...harness, shared };
  leases(ofNodes);
  fencing(ofNodes);
  inbox(ofNodes);
  across(ofNodes);
  if (shared.cut !== undefined) unreachable(ofNodes, shared.cut);
  if (shared.mute !== undefined) lostWakes(ofNodes, shared.mute);
}
