/**
 * Server-to-client requests of a session that wait for their answers: sampling, elicitation, roots.
 *
 * They outlive every connection, and are answered once [C X-06]. On the wire each has an id of
 * ours, so that the answer to a question of a dead upstream never reaches its successor.
 */
import { randomBytes } from "node:crypto";
import type { Question } from "./routing.ts";

interface Asked extends Question {
  /** Where it stands in its stream; unknown until it is in the log. */
  position: number | undefined;
  /** Evictions of its stream that came before its position was known. */
  evictedThrough: number;
}

export class Questions {
  /** A session that is back from its rest has other questions: its old ones are not asked again. */
  readonly #prefix = randomBytes(6).toString("hex");
  readonly #asked = new Map<string, Asked>();
  #count = 0;

  /** All that wait, oldest first. */
  all(): readonly Question[] {
    return this.#asked.size === 0 ? none : [...this.#asked.values()];
  }

  /** Note a question of the upstream; `idJson` is the upstream's own id for it. */
  ask(idJson: string, stream: number): Question {
    this.#count++;
    const wireIdJson = JSON.stringify(`${this.#prefix}-${this.#count}`);
    const question = { wireIdJson, idJson, stream, position: undefined, evictedThrough: 0 };
    this.#asked.set(wireIdJson, question);
    return question;
  }

  /**
   * A question is in the log now.
   *
   * @returns false when it has left it again: it was evicted in the step in which it came
   */
  place(question: Question, position: number): boolean {
    const asked = this.#asked.get(question.wireIdJson);
    if (asked === undefined) return true;
    asked.position = position;
    if (position > asked.evictedThrough) return true;
    this.#asked.delete(question.wireIdJson);
    return false;
  }

  /** The question that a client's answer belongs to; the second answer finds none. */
  take(wireIdJson: string): Question | undefined {
    const question = this.#asked.get(wireIdJson);
    this.#asked.delete(wireIdJson);
    return question;
  }

  /** Those that stood in evicted events: nobody will ever see them. */
  takeEvicted(stream: number, through: number): readonly Question[] {
    const evicted: Question[] = [];
    for (const asked of this.#asked.values()) {
      if (asked.stream !== stream) continue;
      asked.evictedThrough = through;
      if (asked.position !== undefined && asked.position <= through) evicted.push(asked);
    }
    for (const { wireIdJson } of evicted) this.#asked.delete(wireIdJson);
    return evicted;
  }

  /** Their upstream is gone. */
  clear(): void {
    this.#asked.clear();
  }
}

const none: readonly Question[] = [];
