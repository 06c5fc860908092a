import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import { type LackingPermissions, lackingPermissions, NOTHING_CHANGED } from "../permissions/permissions.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { configOf, type ReconcileState } from "../state/reconcileState.ts";
import { DeniedError, WaitingError } from "../state/waiting.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import { removals } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

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

/** Looks up which permissions an extension's ServiceAccount lacks, and keeps what `spec.install.permissions: Warn` reports of them. */
export class PermissionCheck {
  readonly #options: PermissionCheckOptions;

  constructor(options: PermissionCheckOptions) {
    this.#options = options;
  }

  /** Looks up the missing permissions, if there are any, and records an Event when that has changed. */
  async find({ desired, images, kinds }: PermissionSubject): Promise<LackingPermissions | undefined> {
    const { facts, scoped, events, signal } = this.#options;
    const { extension, history } = facts;
    const pruned = removals({ history: history.current, desired, crdPolicy: crdPolicyOf(extension.spec) });
    const request = { extension, config: configOf(facts), desired, pruned, images, resourceOf: kinds.resourceOf.bind(kinds) };
    const lacking = await lackingPermissions(scoped, request, signal);
    if (!lacking?.doubtful) events.permissions(lacking !== undefined);
    return lacking;
  }

  /** With Warn, reports the missing permissions and remembers that they were looked up. */
  tell(lacking: LackingPermissions | undefined): void {
    if (!this.#warns) return;
    const { facts, memory, now } = this.#options;
    const text = lacking && toleratedText(lacking);
    memory.of(facts.extension).rights = { checkedAt: now(), lacking: text };
    if (text !== undefined) facts.lacking = text;
  }

  /** With Warn, says what is missing for a deployed release, looked up once an interval. */
  async warn(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { facts, memory, intervalMs, now } = this.#options;
    if (!this.#warns || facts.lacking !== undefined) return;
    const { rights } = memory.of(facts.extension);
    const sinceMs = rights ? now() - rights.checkedAt : Number.POSITIVE_INFINITY;
    if (!rights || sinceMs < 0 || sinceMs >= intervalMs) this.tell(await this.find(await subject()));
    else if (rights.lacking !== undefined) facts.lacking = rights.lacking;
  }

  /** The same after a refusal, of which nothing that is remembered knows; the next pass looks again, as that may be over by then. */
  async warnOfRefusal(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { facts, memory } = this.#options;
    if (!this.#warns) return;
    delete facts.lacking;
    this.tell(await this.find(await subject()));
    delete memory.of(facts.extension).rights;
  }

  /** Whether to go on without rights that are missing. */
  get #warns(): boolean {
    return this.#options.facts.extension.spec.install?.permissions === "Warn";
  }
}

/** Reports missing permissions that do not refuse a release. */
export function toleratedText({ text }: LackingPermissions): string {
  return `spec.install.permissions is Warn: ${text}`;
}

/** @returns the error that refuses a release for missing permissions; over once they are granted. */
export function permissionsError({ text, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(Reason.Retrying, `${text}; ${NOTHING_CHANGED}`, { isOver });
}

/** @returns an error for what refused a release although it was not certain that permissions are missing, with these permissions first. */
export function withLacking(err: unknown, { text, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(
    Reason.Retrying,
    `${text}; ${NOTHING_CHANGED}; the API server says: ${err instanceof DeniedError ? err.said : messageOf(err)}`,
    { cause: err, isOver },
  );
}
