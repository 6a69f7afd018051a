/**
 * The command: reads its line, does what it says, ends with the code that says how it went:
 * 0 well, 1 failed, 2 wrong use, 128 and more ended by a signal.
 */
import { performance } from "node:perf_hooks";
import { HoldfastError } from "@holdfast/contract";
import { banner, servedPhrase } from "./banner.ts";
import { parseCommandLine, type Served } from "./command-line.ts";
import { runConnectCommand } from "./connect/command.ts";
import { runDemoCommand } from "./demo/command.ts";
import { demoCommand, demoTranscript } from "./demo-serve.ts";
import { createLogger } from "./logger.ts";
import type { ServeOptions } from "./serve-options.ts";
import { startServing } from "./serving.ts";
import { runSessions, SessionsFailure } from "./sessions/command.ts";
import type { SessionsOptions } from "./sessions/options.ts";
import { stopOnSignals } from "./stop-signals.ts";
import { readVersion } from "./version.ts";

// Whoever reads our output may leave (`holdfast --help | head`): that ends nothing here.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

await main();

async function main(): Promise<void> {
  const invocation = parseCommandLine(process.argv.slice(2), process.env, readVersion());
  switch (invocation.kind) {
    case "text":
      process.stdout.write(invocation.text);
      return;
    case "wrong":
      fail([invocation.problem, invocation.fix], 2);
      return;
    case "serve": {
      const { options, served } = invocation;
      const serving = servedPhrase(served);
      return serve({ options, served, serving, hints: () => "" }).catch(report);
    }
    case "connect":
      return runConnectCommand(invocation.options).then((code) => process.exit(code), report);
    case "sessions":
      return sessions(invocation.options).catch(report);
    case "demo":
      return runDemoCommand(invocation).then((code) => {
        process.exitCode = code;
      }, report);
    case "demo-serve":
      return serve({
        served: { kind: "command", ...demoCommand() },
        options: invocation.options,
        serving: "the demo server (one process for each session)",
        hints: demoTranscript,
      }).catch(report);
  }
}

async function sessions(options: SessionsOptions): Promise<void> {
  const stop = new AbortController();
  process.on("SIGINT", () => stop.abort()).on("SIGTERM", () => stop.abort());
  const output = {
    write: (text: string) => void process.stdout.write(text),
    columns: process.stdout.columns ?? 100,
    isTerminal: process.stdout.isTTY === true,
  };
  await runSessions(options, output, stop.signal);
}

interface Serve {
  readonly options: ServeOptions;
  readonly served: Served;
  /** What is served, for the banner. */
  readonly serving: string;
  /** More for the banner. */
  hints(url: string): string;
}

async function serve({ options, served, serving, hints }: Serve): Promise<void> {
  const isTerminal = process.stderr.isTTY === true;
  const logger = createLogger({ level: options.logLevel, isTerminal });
  const task = { options, served, env: process.env };
  const running = await startServing(task, logger);
  process.on("exit", running.killChildren);
  process.on("uncaughtException", (error) => {
    logger.fatal({ error }, "a fault of the gateway itself; it ends");
    process.exit(1);
  });
  const onSignal = stopOnSignals(
    {
      stop: () =>
        void running
          .stop()
          .catch(report)
          .finally(() => process.exit()),
      abandon: (code) => process.exit(code),
    },
    () => performance.now(),
  );
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  const { url, admin } = running;
  const facts = { version: readVersion(), url, admin, options, serving };
  process.stdout.write(banner(facts) + hints(running.url));
}

function report(error: unknown): void {
  const isKnown = error instanceof HoldfastError || error instanceof SessionsFailure;
  if (isKnown) return fail([error.message, error.hint], 1);
  fail(
    [`This is a fault of holdfast itself: ${error instanceof Error ? error.message : error}`],
    1,
  );
}

function fail(sentences: readonly (string | undefined)[], exitCode: number): void {
  const [problem, fix] = sentences;
  process.stderr.write(`holdfast: ${problem}\n${fix === undefined ? "" : `${fix}\n`}`);
  process.exitCode = exitCode;
}
