/**
 * One `holdfast connect` in this process: a host, a state file and a transport put together, and
 * taken apart again. No terminal, no signals: command.ts has those.
 *
 *     running ──end of input──▶ last answers ──nothing open──▶ session ended, state empty
 *        └──signal, host gone──▶ closed ◀──something open──┘    (session and state are kept)
 */
import { ClientError, fileState, ResumableClientTransport } from "@holdfast/client";
import type { JsonObject } from "@holdfast/contract";
import type { Logger } from "pino";
import { settlesWithin } from "../settles-within.ts";
import { createBridge } from "./bridge.ts";
import { gatedFetch } from "./gated-fetch.ts";
import { createHost, type HostPipes } from "./host.ts";
import { gapNotice, parkedNotice, recoveredNotice, resumedNotice } from "./notices.ts";
import type { ConnectOptions } from "./options.ts";
import { claimMs, unclaimedReporter } from "./unclaimed.ts";

export interface Connecting {
  /** Resolves when it is over, whatever ended it. */
  readonly over: Promise<void>;
  /** End now; session and state are kept for the next start. */
  stop(): void;
}

/** Hosts wait about 2 s from the end of our input to a signal; all of this has to fit in. */
const patience = { lastAnswersMs: 800, deleteMs: 700, flushMs: 300 } as const;

/**
 * Begin to connect.
 *
 * @throws ClientError `ERR_STATE_LOCKED` with who holds the state, `ERR_STATE_CORRUPT`,
 * `ERR_STATE_NEWER`, `ERR_STATE_UNAVAILABLE`
 */
export async function startConnecting(
  options: ConnectOptions,
  pipes: HostPipes,
  logger: Logger,
): Promise<Connecting> {
  const host = createHost(pipes);
  const transport = createTransport();
  const bridge = createBridge(host, { send }, logger);
  const unclaimed = unclaimedReporter(transport, (call, outcome) =>
    bridge.tell(recoveredNotice(call, outcome)),
  );
  const stopped = Promise.withResolvers<"stopped">();
  /** Looks whether anything is still in flight; set while the last answers are waited for. */
  let check = () => {};
  let sweep: NodeJS.Timeout | undefined;
  transport.onmessage = (message) => {
    bridge.deliver(message);
    // The transport is done with the message only when this has returned.
    queueMicrotask(() => check());
  };
  transport.onerror = (error) => {
    if (!(error instanceof ClientError)) logger.warn({ error }, "a fault on the way to the server");
    else logger.warn({ code: error.code, hint: error.hint }, error.message);
  };
  await transport.start();
  const { url, stateFile } = options;
  logger.info({ url: withoutQuery(url), stateFile }, "connecting");
  void bridge.initialized.then(() => {
    sweep = setInterval(() => void unclaimed.look(), claimMs);
  });

  async function send(message: JsonObject): Promise<void> {
    const sent = transport.send(message);
    // After the end there is nothing to look at.
    unclaimed.recheck().catch(() => {});
    await sent.finally(() => queueMicrotask(() => check()));
  }

  function createTransport(): ResumableClientTransport {
    return new ResumableClientTransport(options.url, {
      state: fileState(options.stateFile),
      fetch: gatedFetch(host.drained, (input, init) => fetch(input, init)),
      headers: options.headers,
      reconnect: options.reconnect,
      strict: options.isStrict,
      reattach: options.isReattaching,
      onGap: (gap) => bridge.tell(gapNotice(gap)),
      onParked: (parked) => {
        logger.warn({ why: parked.why }, "the server cannot be used now");
        bridge.tell(parkedNotice(parked));
      },
      onResumed: () => {
        logger.info("the server can be used again");
        bridge.tell(resumedNotice());
      },
      onSessionEnded: ({ reason }) => logger.warn({ reason }, "the server has ended the session"),
      // The host is answered by the transport, with the same words [C X-05].
      onUnknownOutcome: ({ method, name, reason }) =>
        logger.warn({ method, name, reason }, "the outcome of a call is unknown"),
      onContract: ({ shortfalls }) => {
        for (const { type, message } of shortfalls) logger.warn({ shortfall: type }, message);
      },
    });
  }

  /** Nothing is in flight, nothing waits for who may ask. */
  async function isIdle(): Promise<boolean> {
    return transport.pending().length === 0 && (await transport.recovered()).length === 0;
  }

  /** What is still answered in a moment is answered: the host may have closed its end early. */
  async function lastAnswers(): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      check = () => {
        if (transport.pending().length === 0) resolve();
      };
      check();
    });
    await settlesWithin(answered, patience.lastAnswersMs);
  }

  async function live(): Promise<void> {
    const reason = await Promise.race([
      bridge.run().then(() => "ended" as const),
      host.gone.then(() => "gone" as const),
      stopped.promise,
    ]);
    if (reason === "ended") await Promise.race([lastAnswers(), stopped.promise, host.gone]);
    check = () => {};
    clearInterval(sweep);
    const isEnding = reason === "ended" && (await isIdle());
    // A server that does not answer now will end the session when it was idle for long enough.
    if (isEnding) await settlesWithin(transport.terminateSession(), patience.deleteMs);
    const inFlight = transport.pending().length;
    await transport.close();
    await settlesWithin(host.flushed(), patience.flushMs);
    logger.info({ reason, inFlight, isKept: !isEnding }, "over");
  }

  return { over: live(), stop: () => stopped.resolve("stopped") };
}

/** [C P-03] a query may hold a key. */
function withoutQuery({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
