/**
 * The acceptance suite of HTTP faces: whatever stands between a socket and the session runtime,
 * the contract holds on the wire. One file a chapter.
 *
 *     acceptFace({ name: "node", serve: … });
 *     acceptFace({ name: "node", serve: … }, { log: "sqlite", chapters: ["sessions"] });
 */
import { afterEach, describe } from "vitest";
import { disposeAll } from "../disposal.ts";
import { accessChapter } from "./access.ts";
import { arraysChapter } from "./arrays.ts";
import { benches, type OpenBench } from "./bench.ts";
import { bodyLimitsChapter } from "./body-limits.ts";
import { bytesChapter } from "./bytes.ts";
import { cancellationChapter } from "./cancellation.ts";
import { cutsChapter } from "./cuts.ts";
import { drainChapter } from "./drain.ts";
import { endingsChapter } from "./endings.ts";
import type { Face, LogKind } from "./face.ts";
import { fuzzChapter } from "./fuzz.ts";
import { hibernationChapter } from "./hibernation.ts";
import { keyOutcomesChapter } from "./key-outcomes.ts";
import { keysChapter } from "./keys.ts";
import { limitsChapter } from "./limits.ts";
import { outcomesChapter } from "./outcomes.ts";
import { principalChapter } from "./principal.ts";
import { questionsChapter } from "./questions.ts";
import { refusalOrderChapter } from "./refusal-order.ts";
import { refusalsChapter } from "./refusals.ts";
import { requestIdsChapter } from "./request-ids.ts";
import { restartChapter } from "./restart.ts";
import { routingChapter } from "./routing.ts";
import { sessionsChapter } from "./sessions.ts";
import { storeFailuresChapter } from "./store-failures.ts";
import { streamChapters } from "./stream-chapters.ts";
import { upstreamLossChapter } from "./upstream-loss.ts";
import { versionsChapter } from "./versions.ts";

const chapters = {
  sessions: sessionsChapter,
  cuts: cutsChapter,
  endings: endingsChapter,
  versions: versionsChapter,
  routing: routingChapter,
  cancellation: cancellationChapter,
  requestIds: requestIdsChapter,
  questions: questionsChapter,
  bytes: bytesChapter,
  arrays: arraysChapter,
  upstreamLoss: upstreamLossChapter,
  refusals: refusalsChapter,
  refusalOrder: refusalOrderChapter,
  access: accessChapter,
  bodyLimits: bodyLimitsChapter,
  fuzz: fuzzChapter,
  restart: restartChapter,
  outcomes: outcomesChapter,
  principal: principalChapter,
  limits: limitsChapter,
  drain: drainChapter,
  storeFailures: storeFailuresChapter,
  hibernation: hibernationChapter,
  keys: keysChapter,
  keyOutcomes: keyOutcomesChapter,
  ...streamChapters,
} satisfies Record<string, (open: OpenBench) => void>;

export type Chapter = keyof typeof chapters;

export interface AcceptanceSettings {
  /** The event log behind the face. Default: memory. */
  readonly log?: LogKind;
  /** Default: all of them. */
  readonly chapters?: readonly Chapter[];
  /** Chapters that are left out of these. */
  readonly except?: readonly Chapter[];
}

/** Declare the suite's tests for one face, in the test file that calls it. */
export function acceptFace(face: Face, settings: AcceptanceSettings = {}): void {
  const { log = "memory" } = settings;
  const { except = [] } = settings;
  const named = settings.chapters ?? (Object.keys(chapters) as Chapter[]);
  const chosen = named.filter((name) => !except.includes(name));
  describe(`${face.name} face, ${log} log`, () => {
    afterEach(disposeAll);
    for (const name of chosen) describe(name, () => chapters[name](benches(face, log)));
  });
}
