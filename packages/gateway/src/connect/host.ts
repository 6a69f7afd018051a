/**
 * The host on the other side of stdin and stdout: lines in, lines out, nothing else ever. Knows
 * JSON, and what to answer to a line that is none; no method and no session.
 */
import type { Readable, Writable } from "node:stream";
import {
  errorCodes,
  errorMessageText,
  type InvalidMessage,
  type Message,
  parseMessage,
} from "@holdfast/contract";
import { createLineFramer, type Framed } from "../line-framing.ts";
import { identifyOversized } from "../oversized-message.ts";

export interface HostPipes {
  readonly input: Readable;
  readonly output: Writable;
}

/** A message of the host: read, and as it was. */
export interface HostMessage {
  readonly message: Message;
  readonly value: object;
}

export interface Host {
  /** The messages of the host, in their order, until its input ends. */
  messages(): AsyncIterable<HostMessage>;
  /** Write one message. */
  write(message: object): void;
  /** Resolves when the host has taken enough of what was written [C E-09]. */
  drained(): Promise<void>;
  /** Resolves when everything written has left, or can no longer. */
  flushed(): Promise<void>;
  /** Resolves when the host reads no more. */
  readonly gone: Promise<void>;
}

/** Largest message that is taken from the host. */
export const messageBytesMax = 32 * 2 ** 20;

export function createHost({ input, output }: HostPipes): Host {
  let isGone = false;
  const gone = new Promise<void>((resolve) => {
    const leave = () => {
      isGone = true;
      resolve();
    };
    output.on("error", leave).on("close", leave);
  });
  const write = (text: string) => void (isGone || output.write(`${text}\n`));
  const drained = async () => {
    while (!isGone && output.writableNeedDrain) {
      await Promise.race([new Promise((resolve) => output.once("drain", resolve)), gone]);
    }
  };

  function* read(line: Framed): Generator<HostMessage> {
    if (line.kind === "oversized") return refuseOversized(line, write);
    const text = line.text.trim();
    if (text === "") return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return write(problemText(errorCodes.parse, "The line is not JSON."));
    }
    // Arrays are of 2025-03-26; each message in them is answered for itself.
    const values: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
    for (const one of values) {
      const message = parseMessage(one);
      if (message.kind === "invalid") write(invalidText(one, message));
      else yield { message, value: one as object };
    }
  }

  return {
    messages: async function* () {
      const framer = createLineFramer(messageBytesMax);
      // Reading goes on while the host does not read: it may do one thing after the other.
      for await (const chunk of input as AsyncIterable<Buffer>) {
        for (const line of framer.push(chunk)) yield* read(line);
      }
      for (const line of framer.end()) yield* read(line);
    },
    write: (message) => write(JSON.stringify(message)),
    drained,
    flushed: () => {
      const left = new Promise<void>((resolve) => void output.write("", () => resolve()));
      return Promise.race([left, gone]);
    },
    gone,
  };
}

function refuseOversized(
  { head, end, bytes }: Framed & { readonly kind: "oversized" },
  write: (text: string) => void,
): void {
  const message = identifyOversized(head, end);
  if (message.kind !== "request") return;
  const data = { type: "message-too-large", class: "too-large", notRun: true, bytes };
  const text = `The request is larger than ${messageBytesMax} bytes and was not passed on.`;
  const error = { code: errorCodes.invalidRequest, message: text, data };
  write(errorMessageText(message.idJson, JSON.stringify(error)));
}

/** What is no message may have an id all the same; only a request is answered under it. */
function invalidText(value: unknown, { problem }: InvalidMessage): string {
  const { id, method } = Object(value) as { readonly id?: unknown; readonly method?: unknown };
  const isAddressed = method !== undefined && (typeof id === "string" || Number.isFinite(id));
  return problemText(errorCodes.invalidRequest, problem, isAddressed ? JSON.stringify(id) : "null");
}

function problemText(code: number, message: string, idJson = "null"): string {
  return errorMessageText(idJson, JSON.stringify({ code, message }));
}
