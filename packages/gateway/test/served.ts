/** The gateway in this very process, with its log lines; for tests that look inside. */
import { onDispose } from "@holdfast/testkit";
import { parseServeOptions } from "../src/command-line.ts";
import { type Serving, startServing } from "../src/serving.ts";
import { type RecordingLogger, recordingLogger } from "./recording-logger.ts";

export interface Served extends Serving {
  readonly log: RecordingLogger;
}

/**
 * @param argv - options of `holdfast serve`, on a free port and a log in memory if they say nothing
 * @param command - as `serverScript` makes it
 */
export async function serve(argv: readonly string[], command: readonly string[]): Promise<Served> {
  const outcome = parseServeOptions(
    ["--port", "0", "--admin-port", "0", "--log", "memory:", ...argv],
    {},
  );
  if (outcome.kind === "wrong") throw new Error(outcome.problem);
  const [, file = "", ...args] = command;
  const log = recordingLogger();
  const served = { kind: "command", command: file, args } as const;
  const task = { options: outcome.options, served, env: process.env };
  const serving = await startServing(task, log.logger);
  onDispose(async () => {
    serving.killChildren();
    await serving.stop();
  });
  return { ...serving, log };
}
