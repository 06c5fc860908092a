import type { FaultProxy } from "./faultProxy.ts";
import type { ApiRequest } from "./faultRule.ts";

const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "apply", "delete"]);
/** Requests that change nothing, and Events, which nothing depends on. */
const NO_STEPS: ReadonlySet<string> = new Set(["events", "serviceaccounts/token", "selfsubjectrulesreviews", "selfsubjectaccessreviews"]);

/**
 * A point in the work of a program: so many of its writes have been done by the API server, and the next one has not. From there on nothing
 * of it gets through, and what it has sent gets no answer.
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
   * @param writes how many are done before.
   * @param users whose requests count, by the end of their names.
   */
  constructor(proxy: FaultProxy, writes: number, users: readonly string[]) {
    this.#proxy = proxy;
    this.#left = writes;
    this.#users = users;
    this.#held.promise.catch(() => undefined);
    proxy.before((request) => this.#before(request));
    proxy.after((request) => this.#after(request));
  }

  /** Whether the program has got there. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** Resolves once every write before the point is done. */
  get settled(): Promise<void> {
    return this.#reached.promise;
  }

  /** Lets everything pass again, what was held as well. */
  lift(): void {
    this.#end();
    this.#held.resolve();
  }

  /** The same, but what was held gets no answer and never reaches the API server. */
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
