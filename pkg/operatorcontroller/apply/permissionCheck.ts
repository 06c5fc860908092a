import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import { type LackingPermissions, lackingPermissions } from "../permissions/permissions.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { configOf, type ReconcileState } from "../state/reconcileState.ts";
import { DeniedError, WaitingError } from "../state/waiting.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import { removals } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

/** Ends each text about rights that are missing. */
export const NOTHING_CHANGED = "nothing was changed, and it goes on by itself within seconds once they are granted";

/** With what, and of whom, rights are looked up. */
export interface PermissionCheckOptions {
  facts: ReconcileState;
  /** Of the extension's ServiceAccount. */
  scoped: Client;
  events: Pick<ReleaseEvents, "permissions">;
  memory: ExtensionCache;
  /** How long what was found under Warn counts. */
  intervalMs: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  signal: AbortSignal;
}

/** What is to be written, and of which bundles it is. */
export interface PermissionSubject {
  desired: readonly KubeObject[];
  images: readonly string[];
  kinds: ServedKinds;
}

/** Looks up which rights an extension's ServiceAccount lacks, and decides by `spec.install.permissions` what comes of that. */
export class PermissionCheck {
  readonly #options: PermissionCheckOptions;

  constructor(options: PermissionCheckOptions) {
    this.#options = options;
  }

  /**
   * Looks for rights that are missing, where the pass goes on without being certain that they are; with Warn they become a fact instead.
   * @throws WaitingError Retrying with all of them, where it does not.
   */
  async require({ desired, images, kinds }: PermissionSubject): Promise<LackingPermissions | undefined> {
    const { facts, scoped, events, memory, now, signal } = this.#options;
    const { extension, history } = facts;
    const pruned = removals({ history: history.current, desired, crdPolicy: crdPolicyOf(extension.spec) });
    const request = { extension, config: configOf(facts), desired, pruned, images, resourceOf: kinds.resourceOf.bind(kinds) };
    const lacking = await lackingPermissions(scoped, request, signal);
    if (!lacking?.doubtful) events.permissions(lacking !== undefined);
    if (this.#warns) {
      const text = lacking && `spec.install.permissions is Warn: ${lacking.text}`;
      memory.of(extension).rights = { checkedAt: now(), lacking: text };
      if (text !== undefined) facts.lacking = text;
      return undefined;
    }
    if (!lacking || lacking.doubtful) return lacking;
    throw new WaitingError(Reason.Retrying, `${lacking.text}; ${NOTHING_CHANGED}`, lacking);
  }

  /** With Warn, says what is missing for a deployed release, looked up once an interval. */
  async warn(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { facts, memory, intervalMs, now } = this.#options;
    if (!this.#warns || facts.lacking !== undefined) return;
    const { rights } = memory.of(facts.extension);
    const sinceMs = rights ? now() - rights.checkedAt : Number.POSITIVE_INFINITY;
    if (!rights || sinceMs < 0 || sinceMs >= intervalMs) await this.require(await subject());
    else if (rights.lacking !== undefined) facts.lacking = rights.lacking;
  }

  /** The same after a refusal, of which nothing that is remembered knows; the next pass looks again, as that may be over by then. */
  async warnOfRefusal(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { facts, memory } = this.#options;
    if (!this.#warns) return;
    delete facts.lacking;
    await this.require(await subject());
    delete memory.of(facts.extension).rights;
  }

  /** Whether to go on without rights that are missing. */
  get #warns(): boolean {
    return this.#options.facts.extension.spec.install?.permissions === "Warn";
  }
}

/** What refused a pass that went on without being certain that nothing is missing: with those rights told first. @see PermissionCheck.require */
export function withLacking(err: unknown, { text, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(
    Reason.Retrying,
    `${text}; ${NOTHING_CHANGED}; the API server says: ${err instanceof DeniedError ? err.said : messageOf(err)}`,
    { cause: err, isOver },
  );
}
