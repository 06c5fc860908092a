import type { FaultProxy } from "./faultProxy.ts";
import type { ApiRequest } from "./faultRule.ts";

const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "apply", "delete"]);
/** Requests that change nothing, and Events, which no object depends on. */
const NO_STEPS: ReadonlySet<string> = new Set(["events", "serviceaccounts/token", "selfsubjectrulesreviews", "selfsubjectaccessreviews"]);

/**
 * A point in the sequence of a program's writes: the API server has processed a number of them, but not the next one. From there, no
 * request of the program gets through, and requests in flight get no response.
 */
export class KillPoint {
  readonly #proxy: FaultProxy;
  readonly #reached = Promise.withResolvers<void>();
  readonly #held = Promise.withResolvers<void>();
  readonly #users: readonly string[];
  #left: number;
  #underWay = 0;
  #isReached = false;

  /**
   * @param writes the number of writes before the point.
   * @param users suffixes of the user names whose requests count.
   */
  constructor(proxy: FaultProxy, writes: number, users: readonly string[]) {
    this.#proxy = proxy;
    this.#left = writes;
    this.#users = users;
    this.#held.promise.catch(() => undefined);
    proxy.before((request) => this.#before(request));
    proxy.after((request) => this.#after(request));
  }

  /** Whether the program has reached the point. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** Resolves once all writes before the point are done. */
  get settled(): Promise<void> {
    return this.#reached.promise;
  }

  /** Lets all requests pass again, including the held ones. */
  lift(): void {
    this.#end();
    this.#held.resolve();
  }

  /** Lets new requests pass again; held requests get no response and never reach the API server. */
  drop(): void {
    this.#end();
    this.#held.reject(new Error("dropped"));
  }

  #end(): void {
    this.#proxy.before(undefined);
    this.#proxy.after(undefined);
  }

  #before(request: ApiRequest): Promise<void> | undefined {
    if (!this.#users.some((user) => request.user.endsWith(user))) return undefined;
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

  #after(request: ApiRequest): void {
    if (!isStep(request) || !this.#users.some((user) => request.user.endsWith(user))) return;
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
