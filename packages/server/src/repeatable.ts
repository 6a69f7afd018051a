/**
 * Whether a call may run again although its first run may have taken effect [C X-05]: requests that
 * only read, and tools that are annotated so by their server.
 */

import { isRepeatableMethod } from "@holdfast/contract";

/** Ask the upstream for a page of tools; undefined when it does not answer. */
export type AskTools = (params: object) => Promise<string | undefined>;

export class Repeatable {
  readonly #ask: AskTools;
  readonly #pagesMax: number;
  #tools: Promise<ReadonlySet<string>> | undefined;

  constructor(ask: AskTools, pagesMax: number) {
    this.#ask = ask;
    this.#pagesMax = pagesMax;
  }

  /** @param name - of the tool, for `tools/call` */
  async isRepeatable(method: string, name: string | undefined): Promise<boolean> {
    if (method !== "tools/call") return isRepeatableMethod(method);
    this.#tools ??= this.#list();
    const tools = await this.#tools;
    return name !== undefined && tools.has(name);
  }

  /** The list of tools has changed. */
  forget(): void {
    this.#tools = undefined;
  }

  /** A tool that is not listed, or not annotated, is taken to be unsafe to repeat. */
  async #list(): Promise<ReadonlySet<string>> {
    const repeatable = new Set<string>();
    let params: object = {};
    for (let pages = 0; pages < this.#pagesMax; pages++) {
      const answer = await this.#ask(params);
      if (answer === undefined) {
        this.forget();
        break;
      }
      const page = readPage(answer);
      for (const tool of page.tools) {
        const { readOnlyHint, idempotentHint } = tool.annotations ?? {};
        const isSafe = readOnlyHint === true || idempotentHint === true;
        if (typeof tool.name === "string" && isSafe) repeatable.add(tool.name);
      }
      if (page.nextCursor === undefined) break;
      params = { cursor: page.nextCursor };
    }
    return repeatable;
  }
}

interface Tool {
  readonly name?: unknown;
  readonly annotations?: { readonly readOnlyHint?: unknown; readonly idempotentHint?: unknown };
}

interface ToolPage {
  readonly tools: readonly Tool[];
  readonly nextCursor: string | undefined;
}

/** What a server lists, as far as it is what the protocol says. */
function readPage(answer: string): ToolPage {
  const { result } = JSON.parse(answer) as { result?: { tools?: unknown; nextCursor?: unknown } };
  const listed: unknown[] = Array.isArray(result?.tools) ? result.tools : [];
  const tools = listed.filter((tool): tool is Tool => typeof tool === "object" && tool !== null);
  const cursor = result?.nextCursor;
  return { tools, nextCursor: typeof cursor === "string" ? cursor : undefined };
}
