/**
 * An upstream that is a child process speaking MCP over stdio: one child per session, one message
 * per line. Starts it, carries lines both ways, says when it is gone. Reads nothing of a message
 * but what it takes to say whose one was that is too large.
 *
 *     running ──close()──► ending (stdin, SIGTERM, SIGKILL) ──► gone
 *        └────exit, or end of its output──► onExit ──────────► gone
 */
import { stripVTControlCharacters } from "node:util";
import { errorMessageText, HoldfastError } from "@holdfast/contract";
import type { Upstream, UpstreamEvents, UpstreamFactory } from "@holdfast/server";
import type { Logger } from "pino";
import { type Child, type ChildCommand, endChild, startChild } from "./child-process.ts";
import { logStderr } from "./child-stderr.ts";
import { createLineFramer, type Framed } from "./line-framing.ts";
import { identifyOversized } from "./oversized-message.ts";
import { settlesWithin } from "./settles-within.ts";

export interface StdioUpstreamSettings extends ChildCommand {
  /** Largest message that is taken from the child, bytes. */
  readonly eventBytesMax: number;
  /** Each wait on the way from a closed stdin by SIGTERM to SIGKILL, milliseconds. */
  readonly graceMs: number;
  readonly logger: Logger;
}

export interface StdioUpstreams extends UpstreamFactory {
  /** End every child there is, now and without waiting: for the last moment of the process. */
  killAll(): void;
}

export const stdioDefaults = { eventBytesMax: 32 * 2 ** 20, graceMs: 2000 } as const;

/** Of a line that is no message this much is logged, characters. */
const strayCharsMax = 200;
/** How long output may go on after the child's exit, or a child after the end of its output. */
const lingerMs = 500;

/** @returns a factory whose children end with `close`, or all at once with `killAll` */
export function stdioUpstreams(settings: StdioUpstreamSettings): StdioUpstreams {
  const children = new Set<Child>();
  return {
    start: async ({ tag }, events) => {
      const child = await startChild(settings).catch((error: NodeJS.ErrnoException) => {
        throw startError(settings.command, error);
      });
      children.add(child);
      const logger = settings.logger.child({ session: tag });
      return new StdioUpstream(child, events, { ...settings, logger }, () => {
        children.delete(child);
      });
    },
    killAll: () => {
      for (const child of children) child.signalGroup("SIGKILL");
    },
  };
}

/** Why a command could not be started, as a sentence and a fix. */
export function startError(command: string, error: NodeJS.ErrnoException): HoldfastError {
  const problem =
    error.code === "ENOENT"
      ? `The command "${command}" was not found.`
      : error.code === "EACCES"
        ? `The command "${command}" may not be run: permission denied.`
        : `The command "${command}" could not be started: ${error.message}.`;
  return new HoldfastError("ERR_UPSTREAM_START", problem, {
    hint: "Check its spelling, or give its full path.",
    cause: error,
  });
}

class StdioUpstream implements Upstream {
  readonly #child: Child;
  readonly #events: UpstreamEvents;
  readonly #settings: StdioUpstreamSettings;
  readonly #onGone: () => void;
  /** Set when the end was asked for or told: nothing is handed on or taken any more. */
  #isOver = false;
  /** Set while the child is being ended, and afterwards. */
  #ended: Promise<void> | undefined;
  /** Set while the log is behind and reading waits for it. */
  #release: (() => void) | undefined;
  #bytesRead = 0;

  constructor(
    child: Child,
    events: UpstreamEvents,
    settings: StdioUpstreamSettings,
    onGone: () => void,
  ) {
    this.#child = child;
    this.#events = events;
    this.#settings = settings;
    this.#onGone = onGone;
    settings.logger.debug({ childPid: child.pid }, "the upstream has started");
    void logStderr(child.stderr, settings.logger);
    void this.#watch();
  }

  async send(text: string): Promise<void> {
    // [spec] A message holds no line break; in JSON text a raw one stands between tokens only.
    const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, " ") : text;
    await new Promise<void>((resolve, reject) => {
      const { stdin } = this.#child;
      stdin.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    this.#isOver = true;
    this.#release?.();
    return this.#end();
  }

  #end(): Promise<void> {
    this.#ended ??= endChild(this.#child, this.#settings.graceMs).then(this.#onGone);
    return this.#ended;
  }

  /** Read to the end; and if nobody asked for it, tell. */
  async #watch(): Promise<void> {
    const child = this.#child;
    const reading = this.#readMessages();
    const hint = await Promise.race([
      child.exited,
      child.inputClosed.then(() => "closed its input"),
      reading.then(() => "closed its output"),
    ]);
    const hasExited = await settlesWithin(child.exited, lingerMs);
    if (hasExited) await this.#readRest(reading);
    if (this.#isOver) return;
    this.#isOver = true;
    const reason = hasExited ? await child.exited : hint;
    void this.#end();
    this.#events.onExit(reason);
  }

  async #readMessages(): Promise<void> {
    const { stdout } = this.#child;
    const framer = createLineFramer(this.#settings.eventBytesMax);
    try {
      for await (const chunk of stdout as AsyncIterable<Buffer>) {
        this.#bytesRead += chunk.length;
        await this.#handAll(framer.push(chunk));
      }
    } catch (error) {
      // Destroyed at the end of the child, because somebody else still holds the pipe.
      if (!stdout.destroyed) throw error;
    }
    await this.#handAll(framer.end());
  }

  /** What is still in the pipe of an ended child; those who keep it open are ended too. */
  async #readRest(reading: Promise<void>): Promise<void> {
    for (let seen = -1; !(await settlesWithin(reading, lingerMs)); ) {
      this.#child.signalGroup("SIGKILL");
      const isStill = this.#release === undefined && seen === this.#bytesRead;
      if (isStill) this.#child.stdout.destroy();
      seen = this.#bytesRead;
    }
  }

  async #handAll(lines: Iterable<Framed>): Promise<void> {
    for (const line of lines) {
      const held = this.#isOver ? undefined : this.#hand(line);
      if (held === undefined) continue;
      await new Promise<void>((resolve) => {
        this.#release = resolve;
        held.then(resolve, resolve);
      });
      this.#release = undefined;
    }
  }

  #hand(line: Framed): Promise<void> | undefined {
    if (line.kind === "oversized") {
      this.#handOversized(line);
      return undefined;
    }
    const text = line.text.trim();
    if (isJsonComposite(text)) return this.#events.onMessage(text);
    if (text !== "") {
      // [C P-03] A banner or a stray print may be shown; what begins like a message may not.
      const shown = text.startsWith("{") ? {} : { text: printable(text.slice(0, strayCharsMax)) };
      this.#settings.logger.warn(
        { chars: text.length, ...shown },
        "the upstream wrote a line to its stdout that is no message",
      );
    }
    return undefined;
  }

  #handOversized(line: Framed & { readonly kind: "oversized" }): void {
    const { bytes } = line;
    const bytesMax = this.#settings.eventBytesMax;
    const message = identifyOversized(line.head, line.end);
    if (message.kind === "request") {
      // The client never sees it, so nobody else would answer.
      this.#settings.logger.warn({ bytes, bytesMax }, "a request of the upstream is too large");
      void this.send(tooLargeAnswer(message.idJson, bytesMax)).catch(() => {});
      return;
    }
    const idJson = message.kind === "response" ? message.idJson : undefined;
    this.#events.onOversized({ idJson, bytes, bytesMax });
  }
}

/** Begins and ends like a JSON object or array: the session runtime reads the rest. */
function isJsonComposite(text: string): boolean {
  return (
    (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"))
  );
}

function printable(text: string): string {
  return stripVTControlCharacters(text);
}

function tooLargeAnswer(idJson: string, bytesMax: number): string {
  const message = `The request is larger than ${bytesMax} bytes and was not passed on.`;
  return errorMessageText(idJson, JSON.stringify({ code: -32600, message }));
}
