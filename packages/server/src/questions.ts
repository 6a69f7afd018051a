/**
 * Server-to-client requests of a session that wait for their answers: sampling, elicitation, roots.
 *
 * They outlive every connection, and are answered once [C X-06]. On the wire each has an id of
 * ours, so that the answer to a question of a dead upstream never reaches its successor.
 */
import type { Question } from "./routing.ts";

interface Asked extends Question {
  /** Where it stands in its stream; unknown until it is in the log. */
  position: number | undefined;
}

export class Questions {
  readonly #prefix: string;
  readonly #asked = new Map<string, Asked>();
  #count = 0;

  /** @param prefix - of this process and no other */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** All that wait, oldest first. */
  all(): readonly Question[] {
    return this.#asked.size === 0 ? none : [...this.#asked.values()];
  }

  /** Note a question of the upstream; `idJson` is the upstream's own id for it. */
  ask(idJson: string, stream: number): Asked {
    this.#count++;
    const wireIdJson = JSON.stringify(`${this.#prefix}-${this.#count}`);
    const question: Asked = { wireIdJson, idJson, stream, position: undefined };
    this.#asked.set(wireIdJson, question);
    return question;
  }

  /** The question that a client's answer belongs to; the second answer finds none. */
  take(wireIdJson: string): Question | undefined {
    const question = this.#asked.get(wireIdJson);
    this.#asked.delete(wireIdJson);
    return question;
  }

  /** Those that stood in evicted events: nobody will ever see them. */
  takeEvicted(stream: number, through: number): readonly Question[] {
    const evicted = [...this.#asked.values()].filter(
      ({ stream: own, position }) =>
        own === stream && position !== undefined && position <= through,
    );
    for (const { wireIdJson } of evicted) this.#asked.delete(wireIdJson);
    return evicted;
  }

  /** Their upstream is gone. */
  clear(): void {
    this.#asked.clear();
  }
}

const none: readonly Question[] = [];
