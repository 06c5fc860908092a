import { rejectOnAbort } from "../../async/concurrency.ts";
import { ConsoleError } from "./consoleError.ts";

/** Maximum number of different works in progress for one user. */
const MAX_WORKS = 4;

interface Work<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  users: number;
}

/** Long work of one user that several requests share while it is in progress. It is cancelled when no request waits for it. */
class SharedWork<T> {
  readonly #works = new Map<string, Work<T>>();

  /**
   * Joins the work with this key, or starts it.
   * @param signal ends the wait of this request only
   * @throws ConsoleError limited if too much other work is in progress
   */
  async run(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#works.get(key) ?? this.#start(key, start);
    work.users++;
    try {
      return await rejectOnAbort(work.result, signal);
    } finally {
      work.users--;
      if (work.users === 0) work.stop.abort(new Error("no page waits for the result"));
    }
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): Work<T> {
    if (this.#works.size >= MAX_WORKS)
      throw new ConsoleError("limited", "too many results are being computed for you; close other pages, or try again in a minute");
    const stop = new AbortController();
    const work: Work<T> = { result: start(stop.signal), stop, users: 0 };
    this.#works.set(key, work);
    const forget = (): void => {
      if (this.#works.get(key) === work) this.#works.delete(key);
    };
    stop.signal.addEventListener("abort", forget, { once: true });
    work.result.then(forget, forget);
    return work;
  }
}

/** The works of each user. */
export class SharedWorks<T> {
  readonly #works = new WeakMap<object, SharedWork<T>>();

  /** Returns the works of an identity. */
  of(identity: object): SharedWork<T> {
    const works = this.#works.get(identity) ?? new SharedWork<T>();
    this.#works.set(identity, works);
    return works;
  }
}
