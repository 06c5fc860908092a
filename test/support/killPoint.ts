import type { FaultProxy, SentRequest } from "./faultProxy.ts";
import type { ApiRequest } from "./faultRule.ts";

const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "apply", "delete"]);
/** Requests that change nothing, and Events, which no object depends on. */
const NO_STEPS: ReadonlySet<string> = new Set(["events", "serviceaccounts/token", "selfsubjectrulesreviews", "selfsubjectaccessreviews"]);

/**
 * A point in a sequence of writes: the API server has processed a number of them, but not the next one. From there, none of the requests gets
 * through, and requests in flight get no response.
 */
export class KillPoint {
  readonly #remove: () => void;
  readonly #reached = Promise.withResolvers<void>();
  readonly #held = Promise.withResolvers<void>();
  readonly #includes: (request: SentRequest) => boolean;
  #left: number;
  #underWay = 0;
  #isReached = false;

  /**
   * @param writes the number of writes before the point.
   * @param includes whether a request belongs to the sequence; requests that write nothing are not counted.
   */
  constructor(proxy: FaultProxy, writes: number, includes: (request: SentRequest) => boolean) {
    this.#left = writes;
    this.#includes = includes;
    this.#held.promise.catch(() => undefined);
    this.#remove = proxy.addHooks({ before: (request) => this.#before(request), after: (request) => this.#after(request) });
  }

  /** Whether the sequence has reached the point. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** Resolves once all writes before the point are done. */
  get settled(): Promise<void> {
    return this.#reached.promise;
  }

  /** Lets all requests pass again, including the held ones. */
  lift(): void {
    this.#remove();
    this.#held.resolve();
  }

  /** Lets new requests pass again; held requests get no response and never reach the API server. */
  drop(): void {
    this.#remove();
    this.#held.reject(new Error("dropped"));
  }

  #before(request: SentRequest): Promise<void> | undefined {
    if (!this.#includes(request)) return undefined;
    if (this.#isReached) return this.#held.promise;
    if (!isStep(request)) return undefined;
    if (this.#left === 0) {
      this.#isReached = true;
      this.#settle();
      return this.#held.promise;
    }
    this.#left--;
    this.#underWay++;
    return undefined;
  }

  #after(request: SentRequest): void {
    if (!isStep(request) || !this.#includes(request)) return;
    this.#underWay--;
    this.#settle();
  }

  #settle(): void {
    if (this.#isReached && this.#underWay === 0) this.#reached.resolve();
  }
}

function isStep({ verb, resource, dryRun }: ApiRequest): boolean {
  return WRITES.has(verb) && !dryRun && !NO_STEPS.has(resource);
}
