import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ActionResult, RunAction } from "../../consoleapi/actions.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { type PlannedChange, RELOAD } from "./plannedChange.ts";

/** Validity of a prepared action, in milliseconds. */
const VALID_MS = 10 * 60_000;
/** Maximum size of all stored actions, in characters of their requests. */
const SIZE_MAX = 64 * 1024 * 1024;
const ACTIONS_MAX = 2_000;
/** Maximum number of stored actions of one user: older ones are dropped. */
const OWN_MAX = 50;

/** Who prepared an action: the name of the user, or the identity object if the API server reports no name. */
export type ActionOwner = string | object;

interface StoredAction {
  readonly owner: ActionOwner;
  readonly change: PlannedChange;
  /** The run, once it has started. */
  run?: { readonly key: string; readonly result: Promise<ActionResult> };
}

/** Options for tests. */
export interface PreparedActionsOptions {
  /** Clock in milliseconds. */
  readonly perf?: { now(): number };
}

/** Changes that wait for their user's confirmation. Each runs at most once, and only for the user who prepared it. */
export class PreparedActions {
  readonly #actions: LRUCache<string, StoredAction>;

  constructor({ perf }: PreparedActionsOptions = {}) {
    this.#actions = new LRUCache({
      max: ACTIONS_MAX,
      maxSize: SIZE_MAX,
      sizeCalculation: ({ change }) => 1_000 + change.requests.reduce((size, { body }) => size + body.length, 0),
      ttl: VALID_MS,
      ...(perf ? { perf, ttlResolution: 0 } : {}),
    });
  }

  /** Stores a change. @returns its identifier, which cannot be guessed */
  add(owner: ActionOwner, change: PlannedChange): string {
    const own = [...this.#actions.entries()].filter(([, one]) => one.owner === owner).map(([id]) => id);
    for (const id of own.slice(OWN_MAX - 1)) this.#actions.delete(id); // newest first
    const id = randomBytes(24).toString("base64url");
    this.#actions.set(id, { owner, change });
    return id;
  }

  /**
   * Runs a change once. A repeated call with the same key returns the result of the first.
   * @throws ConsoleError notFound if it has expired, or belongs to another user; conflict if it was run with another key; invalid without the confirmation
   */
  run(
    owner: ActionOwner,
    { id, idempotencyKey: key, confirmation }: RunAction,
    send: (change: PlannedChange) => Promise<ActionResult>,
  ): Promise<ActionResult> {
    const found = this.#actions.get(id);
    if (!found || found.owner !== owner) {
      throw new ConsoleError("notFound", "the change is unknown or has expired; nothing was changed by this request", { next: RELOAD });
    }
    if (found.run) {
      if (found.run.key === key) return found.run.result;
      throw new ConsoleError("conflict", "the change was already sent", { next: RELOAD });
    }
    const { change } = found;
    if (change.confirmation !== undefined && change.confirmation !== confirmation)
      throw new ConsoleError("invalid", `type ${change.confirmation} to confirm the change`);
    const result = send(change);
    found.run = { key, result };
    result.catch(() => undefined); // each caller handles it
    return result;
  }
}
