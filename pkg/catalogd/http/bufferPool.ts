const LARGE_BYTES = 512 * 1024;
const SMALL_BYTES = 64 * 1024;
/** Large buffers that are lent at once: 16 MiB, for as many answers as two cores can send fast. Further answers get small ones. */
const MAX_LARGE = 32;
/** Idle buffers that are kept. */
const MAX_IDLE = 16;

/** Buffers that answers borrow: allocating half a megabyte for each piece of each answer would keep the garbage collector busy. */
export class BufferPool {
  readonly #idle: Buffer[] = [];
  #lent = 0;

  /** How much an answer should write at once now. */
  get chunkBytes(): number {
    return this.#lent < MAX_LARGE ? LARGE_BYTES : SMALL_BYTES;
  }

  take(): Buffer {
    if (this.#lent >= MAX_LARGE) return Buffer.allocUnsafeSlow(SMALL_BYTES);
    this.#lent++;
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  }

  /** Takes buffers back. @param reusable nobody reads from them any more. */
  give(buffers: readonly Buffer[], reusable: boolean): void {
    const large = buffers.filter(({ length }) => length === LARGE_BYTES);
    this.#lent -= large.length;
    if (reusable) this.#idle.push(...large.slice(0, MAX_IDLE - this.#idle.length));
  }
}

/** Two buffers in turn; each is free again when what was written from it has left. */
export class BorrowedBuffers implements Disposable {
  /** Set when all that was written has left: after a client has gone, what it was to get may still be read from the buffers. */
  reusable = false;
  readonly #busy = new Map<Buffer, Promise<void>>();
  readonly #turn: Buffer[] = [];
  readonly #pool: BufferPool;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  async next(): Promise<Buffer> {
    const buffer = (this.#turn.length < 2 ? undefined : this.#turn.shift()) ?? this.#pool.take();
    this.#turn.push(buffer);
    await this.#busy.get(buffer);
    return buffer;
  }

  wrote(buffer: Buffer, done: Promise<void>): void {
    this.#busy.set(buffer, done);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  [Symbol.dispose](): void {
    this.#pool.give(this.#turn.splice(0), this.reusable);
  }
}
