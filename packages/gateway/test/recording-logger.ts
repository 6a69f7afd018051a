/** A logger whose lines a test reads and waits for. */
import { signal } from "@holdfast/testkit";
import { type Logger, pino } from "pino";

export interface RecordingLogger {
  readonly logger: Logger;
  /** Everything that was logged, as it would be written. */
  readonly text: string;
  /** The messages, in their order. */
  readonly messages: readonly string[];
  /** The next line, past ones included, whose message matches. */
  line(pattern: RegExp): Promise<string>;
}

export function recordingLogger(): RecordingLogger {
  const lines: string[] = [];
  const written = signal<string>("log line");
  const write = (line: string) => {
    lines.push(line);
    written.emit(line);
  };
  const messageOf = (line: string) => String((JSON.parse(line) as { msg?: unknown }).msg);
  return {
    logger: pino({ level: "trace", base: null, errorKey: "error" }, { write }),
    get text() {
      return lines.join("");
    },
    get messages() {
      return lines.map(messageOf);
    },
    line: async (pattern) =>
      lines.find((line) => pattern.test(messageOf(line))) ??
      written.next((line) => pattern.test(messageOf(line))),
  };
}
