import { bounds } from "./options.ts";

/** How much text the blocked viewports of a runtime hold, so that it can be bounded [C E-09]. */
export class HeldText {
  #chars = 0;

  isOver(): boolean {
    return this.#chars > bounds.heldCharsMax;
  }

  add(chars: number): void {
    this.#chars += chars;
  }
}
