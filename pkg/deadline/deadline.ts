/**
 * A signal that aborts with another one or after a time, and holds nothing once it is disposed of. `AbortSignal.any` with `AbortSignal.timeout` is
 * kept alive until the time has passed, however early the work was done: thousands of them in a program that asks often and allows minutes.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);

  /** @param ms until it aborts with a TimeoutError. */
  constructor(parent: AbortSignal, ms: number) {
    this.#parent = parent;
    this.#timer = setTimeout(
      () => this.#controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      ms,
    );
    this.#timer.unref();
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** It aborted because the time has passed, not with the other signal. */
  get isOver(): boolean {
    return this.signal.aborted && !this.#parent.aborted;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
