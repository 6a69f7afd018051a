/** What a child says on stderr, line by line, into the log of the gateway. */
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { Logger } from "pino";
import { createLineFramer, type Framed } from "./line-framing.ts";

/** A longer line is cut, bytes. */
const lineBytesMax = 8 * 1024;

/** Log until the end of `stderr`; resolves then. */
export async function logStderr(stderr: Readable, logger: Logger): Promise<void> {
  const framer = createLineFramer(lineBytesMax);
  const log = (lines: Iterable<Framed>) => {
    for (const line of lines) {
      const text = stripVTControlCharacters(textOf(line));
      if (text.trim() !== "") logger.info({ from: "stderr" }, text);
    }
  };
  try {
    for await (const chunk of stderr as AsyncIterable<Buffer>) log(framer.push(chunk));
  } catch (error) {
    // Destroyed at the end of the child, because somebody else still holds the pipe.
    if (!stderr.destroyed) throw error;
  }
  log(framer.end());
}

function textOf(line: Framed): string {
  if (line.kind === "line") return line.text;
  return `${line.head.slice(0, lineBytesMax)}… (${line.bytes} bytes)`;
}
