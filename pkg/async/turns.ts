import { setImmediate as nextTurn } from "node:timers/promises";

/** Work of a main thread goes on for so long before other work gets its turn. */
const TURN_MS = 10;

/** Divides long work of a main thread into short turns. */
export class Turns {
  #began = performance.now();

  /** Lets other work run if this turn has taken long enough. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}
