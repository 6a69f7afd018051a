/**
 * Between a host and a transport: what one says goes to the other. Each request of the host gets
 * exactly one answer: that of the transport, or here the reason why it was not brought over. No
 * process, no file, no retry: the transport has those.
 */
import type { JsonObject } from "@holdfast/contract";
import type { Logger } from "pino";
import { failureOf } from "./failure.ts";
import type { Host, HostMessage } from "./host.ts";
import type { Notice } from "./notices.ts";

/** What the bridge needs of the transport. */
export interface Carrier {
  /** @throws Error why a request did not run, or another message was not brought over */
  send(message: JsonObject): Promise<void>;
}

export interface Bridge {
  /** Bring over what the host says, until its input ends. */
  run(): Promise<void>;
  /** For the transport: bring a message to the host. */
  deliver(message: object): void;
  /** Tell the host something of our own; it waits until the host is initialized [spec]. */
  tell(notice: Notice): void;
  /** Resolves when the host is initialized. */
  readonly initialized: Promise<void>;
}

/** Notices that wait for the host; more push out the oldest. */
const waitingNoticesMax = 100;

/**
 * How hosts of the 2026-07-28 revision ask what they have before them. Whatever the server speaks,
 * this process has sessions and none of that revision: a stdio server that does not know the method is
 * what each of them takes for one to initialize. An HTTP refusal of the version [C S-09] is not: the
 * Vercel AI SDK gives up then.
 */
const discovery = "server/discover";
const methodNotFoundCode = -32601;

export function createBridge(host: Host, carrier: Carrier, logger: Logger): Bridge {
  const initialized = Promise.withResolvers<void>();
  let waiting: Notice[] | undefined = [];

  function open(): void {
    for (const notice of waiting ?? []) host.write(notice);
    waiting = undefined;
    initialized.resolve();
  }

  function take({ message, value }: HostMessage): void {
    if (message.kind === "request" && message.method === discovery) {
      const error = { code: methodNotFoundCode, message: `Method not found: ${discovery}` };
      return host.write({ jsonrpc: "2.0", id: message.id, error });
    }
    const sent = carrier.send(value as JsonObject);
    switch (message.kind) {
      case "request": {
        const { id, method } = message;
        sent.catch((error: unknown) => {
          const failure = failureOf(method, error);
          const { class: why, status } = failure.data;
          logger.warn({ method, why, status }, "a request was not brought to the server");
          host.write({ jsonrpc: "2.0", id, error: failure });
        });
        return;
      }
      case "notification":
        // [spec] before this only pings may be sent to the host.
        if (message.method === "notifications/initialized") open();
        sent.catch((error: unknown) => lost(message.method, error));
        return;
      case "response":
        sent.catch((error: unknown) => lost("an answer", error));
    }
  }

  /** Nobody waits for an answer to it. */
  function lost(what: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn({ what, reason }, "a message of the host was not brought to the server");
  }

  return {
    run: async () => {
      for await (const message of host.messages()) take(message);
    },
    deliver: (message) => host.write(message),
    tell: (notice) => {
      if (waiting === undefined) return host.write(notice);
      waiting.push(notice);
      if (waiting.length > waitingNoticesMax) waiting.shift();
    },
    initialized: initialized.promise,
  };
}
