/**
 * `--auth bearer:FILE`: who may ask stands in a file, which is read again while it is used. What
 * its lines mean is told in token-lines.ts.
 */
import { readFile, stat } from "node:fs/promises";
import { HoldfastError } from "@holdfast/contract";
import type { Authenticate, Logger } from "@holdfast/server";
import { invalidToken, missingToken, presentedToken } from "./bearer.ts";
import { parseTokenLines, subjectOf, type Tokens } from "./token-lines.ts";

/** The file is looked at no more often than this, milliseconds. */
export const rereadMs = 1000;
/** A larger file is a mistake. */
const fileBytesMax = 4 * 2 ** 20;

export interface TokenFileParts {
  readonly file: string;
  /** Of the protected resource, for challenges. */
  metadataUrl(): string | undefined;
  readonly logger: Logger;
  /** A clock that never steps back. */
  nowMs(): number;
}

/**
 * Read the file, and tell requests by it from then on.
 *
 * @throws {@link HoldfastError} `ERR_OPTION` when it cannot be read or used; later on it is logged,
 * and the tokens that were read last stay good
 */
export async function tokenFileAuthentication(parts: TokenFileParts): Promise<Authenticate> {
  const first = await readTokens(parts.file);
  if (!first.ok) {
    throw new HoldfastError("ERR_OPTION", `--auth bearer:${parts.file}: ${first.problem}.`, {
      hint: "Each line is a token and whose it is, like: 3f9c…b1 alice",
    });
  }
  const held = new HeldTokens(parts, first);
  return async (request) => {
    const presented = presentedToken(request.header("authorization"));
    if (presented.kind === "none") return missingToken(parts.metadataUrl());
    const tokens = await held.current();
    const subject = presented.kind === "token" ? subjectOf(tokens, presented.token) : undefined;
    if (subject === undefined) return invalidToken("The token is not known.", parts.metadataUrl());
    return { kind: "principal", principal: JSON.stringify(["bearer", subject]) };
  };
}

interface Read {
  readonly text: string;
  readonly tokens: Tokens;
}

class HeldTokens {
  readonly #parts: TokenFileParts;
  #read: Read;
  #lookedAtMs: number;
  /** A look that is under way: who asks meanwhile waits for it. */
  #looking: Promise<void> | undefined;
  /** Told once, not every second. */
  #toldProblem: string | undefined;

  constructor(parts: TokenFileParts, first: Read) {
    this.#parts = parts;
    this.#read = first;
    this.#lookedAtMs = parts.nowMs();
  }

  async current(): Promise<Tokens> {
    if (this.#parts.nowMs() - this.#lookedAtMs >= rereadMs) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    }
    await this.#looking;
    return this.#read.tokens;
  }

  /** Reads the whole file: times of files are too coarse to tell two changes in a row apart. */
  async #look(): Promise<void> {
    this.#lookedAtMs = this.#parts.nowMs();
    const { file, logger } = this.#parts;
    const read = await readTokens(file, this.#read);
    if (!read.ok) {
      if (read.problem === this.#toldProblem) return;
      this.#toldProblem = read.problem;
      const { problem } = read;
      logger.error({ file, problem }, "the file of tokens cannot be used; the earlier ones hold");
      return;
    }
    this.#toldProblem = undefined;
    if (read.text === this.#read.text) return;
    this.#read = read;
    logger.info({ file, tokens: read.tokens.size }, "the file of tokens has changed");
  }
}

type Reading = ({ readonly ok: true } & Read) | { readonly ok: false; readonly problem: string };

/** @param known - what is there already: the same text is not parsed again */
async function readTokens(file: string, known?: Read): Promise<Reading> {
  try {
    const facts = await stat(file);
    // A pipe could be read once, and then never again.
    if (!facts.isFile()) return { ok: false, problem: "it is no regular file" };
    if (facts.size > fileBytesMax) return { ok: false, problem: "it is larger than 4 MB" };
    const text = await readFile(file, "utf8");
    if (text === known?.text) return { ok: true, ...known };
    const parsed = parseTokenLines(text);
    return parsed.ok ? { ok: true, text, tokens: parsed.value } : parsed;
  } catch (error) {
    return { ok: false, problem: `it cannot be read (${(error as NodeJS.ErrnoException).code})` };
  }
}
