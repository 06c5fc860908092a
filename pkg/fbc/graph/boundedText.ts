import { GraphTooLargeError } from "./updateGraph.ts";

/** Collects the pieces of a text up to a number of bytes. */
export class BoundedText {
  readonly #max: number;
  readonly #pieces: string[] = [];
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws GraphTooLargeError when the text becomes longer than allowed. */
  add(piece: string): void {
    this.reserve(Buffer.byteLength(piece));
    this.#pieces.push(piece);
  }

  /** Adds a piece that is made only if there is room for about `bytes`. @throws GraphTooLargeError */
  addOf(bytes: number, make: () => string): void {
    if (this.#bytes + bytes > this.#max) this.#refuse();
    this.add(make());
  }

  reserve(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#max) this.#refuse();
  }

  get text(): string {
    return this.#pieces.join("");
  }

  #refuse(): never {
    throw new GraphTooLargeError(`the graph has more than ${this.#max} bytes of text; ask for one channel, or for JSON`);
  }
}
