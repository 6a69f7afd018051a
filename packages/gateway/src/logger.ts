/**
 * The log of the gateway, on stderr: JSON lines for machines, readable ones on a terminal; written
 * at once, so that the last words of a dying process are there.
 *
 * [C P-03] Session ids, keys, tokens and bodies are never given to it; a session is named by its
 * tag.
 */
import { type DestinationStream, type Logger, pino } from "pino";
import { prettyFactory } from "pino-pretty";

export interface LoggerSettings {
  readonly level: string;
  /** For people: time, level and text instead of JSON. */
  readonly isTerminal: boolean;
}

export function createLogger({ level, isTerminal }: LoggerSettings): Logger {
  const stderr = pino.destination({ fd: 2, sync: true });
  return pino({ level, base: null, errorKey: "error" }, isTerminal ? readable(stderr) : stderr);
}

function readable(stderr: DestinationStream): DestinationStream {
  const format = prettyFactory({
    colorize: process.env.NO_COLOR === undefined,
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return { write: (line) => void stderr.write(format(line)) };
}
