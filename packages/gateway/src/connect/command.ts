/**
 * `holdfast connect`: the host on stdin and stdout, the log on stderr, signals, and the code that
 * says how it went.
 */
import { ClientError } from "@holdfast/client";
import { createLogger } from "../logger.ts";
import { stopOnSignals } from "../stop-signals.ts";
import { startConnecting } from "./connecting.ts";
import type { ConnectOptions } from "./options.ts";

/** @returns the exit code: 0 at the end of input or by a signal, 1 when it could not begin */
export async function runConnectCommand(options: ConnectOptions): Promise<number> {
  const isTerminal = process.stderr.isTTY === true;
  const logger = createLogger({ level: options.logLevel, isTerminal });
  process.on("uncaughtException", (error) => {
    logger.fatal({ error }, "a fault of holdfast itself; it ends");
    process.exit(1);
  });
  try {
    const pipes = { input: process.stdin, output: process.stdout };
    const connecting = await startConnecting(options, pipes, logger);
    const onSignal = stopOnSignals(
      { stop: connecting.stop, abandon: (code) => process.exit(code) },
      () => performance.now(),
    );
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
    await connecting.over;
    return 0;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    process.stderr.write(`holdfast: ${error.message}\n${error.hint}\n`);
    return 1;
  }
}
