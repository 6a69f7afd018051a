/**
 * Which requests may run twice [C K-07]: those that only read, and tools that their server
 * annotates so. A tool that was not listed, or not annotated, may not.
 */
import { isRepeatableMethod, type JsonObject, nameOf, parseMessage } from "@holdfast/contract";

/** What servers say of their tools, as it was seen to pass. */
export class Annotations {
  readonly #safeTools = new Set<string>();

  isSafe(request: JsonObject): boolean {
    const message = parseMessage(request);
    if (message.kind !== "request") return false;
    if (message.method !== "tools/call") return isRepeatableMethod(message.method);
    const name = nameOf(message);
    return name !== undefined && this.#safeTools.has(name);
  }

  /** A `tools/list` result has passed. */
  learn(result: unknown): void {
    const { tools } = Object(result) as { tools?: unknown };
    for (const tool of Array.isArray(tools) ? tools : []) {
      const { name, annotations } = Object(tool) as Partial<Record<string, unknown>>;
      if (typeof name !== "string") continue;
      const { readOnlyHint, idempotentHint } = Object(annotations) as Partial<
        Record<string, unknown>
      >;
      if (readOnlyHint === true || idempotentHint === true) this.#safeTools.add(name);
      else this.#safeTools.delete(name);
    }
  }

  /** The list of tools has changed: what was seen counts no more. */
  forget(): void {
    this.#safeTools.clear();
  }
}
