const START_BYTES = 64 * 1024;

/** Bytes that arrived and are not consumed yet, in one piece. Appending and consuming cost as much as the bytes themselves. */
export class ByteQueue {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES);
  #start = 0;
  #end = 0;

  /** What is there, as a view that the next `append` makes invalid. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  get length(): number {
    return this.#end - this.#start;
  }

  append(chunk: Uint8Array): void {
    const needed = this.length + chunk.byteLength;
    if (this.#end + chunk.byteLength > this.#buffer.length) {
      const room = needed * 2 <= this.#buffer.length || needed <= START_BYTES ? this.#buffer : Buffer.allocUnsafeSlow(roomFor(needed));
      room.set(this.bytes, 0);
      this.#end = this.length;
      this.#start = 0;
      this.#buffer = room;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.byteLength;
  }

  /** Drops everything; the memory is kept for what comes next. */
  clear(): void {
    this.#start = 0;
    this.#end = 0;
  }

  /** Drops the first `count` bytes. */
  consume(count: number): void {
    this.#start += count;
  }
}

function roomFor(bytes: number): number {
  let room = START_BYTES;
  while (room < bytes) room *= 2;
  return room;
}
