import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { getCrdPolicy } from "../../release/plan.ts";
import { findMissingPermissions, type MissingPermissions } from "../permissions/permissions.ts";
import { DeniedError, WaitingError } from "../state/conditionPoller.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { getConfiguration } from "../state/extensionSpec.ts";
import type { ActingPhase } from "../state/phases.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import { listRemovals } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

/** The options of a PermissionCheck. */
export interface PermissionCheckOptions {
  phase: ActingPhase;
  events: Pick<ReleaseEvents, "permissions">;
  memory: ExtensionCache;
  /** How long a result is valid with `spec.install.permissions: Warn`, in milliseconds. */
  intervalMs: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  signal: AbortSignal;
}

/** The objects to write, and the images of their bundles. */
export interface PermissionSubject {
  desired: readonly KubeObject[];
  images: readonly string[];
  kinds: ServedKinds;
}

/** Looks up the missing permissions of an extension's ServiceAccount, and reports them with `spec.install.permissions: Warn`. */
export class PermissionCheck {
  readonly #options: PermissionCheckOptions;

  constructor(options: PermissionCheckOptions) {
    this.#options = options;
  }

  /** Looks up the missing permissions, and records an Event when all of them have been granted. */
  async find({ desired, images, kinds }: PermissionSubject): Promise<MissingPermissions | undefined> {
    const { phase, events, signal } = this.#options;
    const { extension, releases, client } = phase;
    const pruned = listRemovals({ history: releases.history.current, desired, crdPolicy: getCrdPolicy(extension.spec) });
    const request = { extension, config: getConfiguration(phase), desired, pruned, images, resourceOf: kinds.resourceOf.bind(kinds) };
    const lacking = await findMissingPermissions(client, request, signal);
    if (!lacking?.uncertain) events.permissions(lacking !== undefined);
    return lacking;
  }

  /** With Warn, reports the missing permissions and caches them. */
  report(lacking: MissingPermissions | undefined): void {
    if (!this.#warns) return;
    const { phase, memory, now } = this.#options;
    const problem = lacking && toWarning(lacking);
    memory.of(phase.extension).permissions = { checkedAt: now(), lacking: problem };
    if (problem) phase.report.lacking = problem;
  }

  /** With Warn, reports the missing permissions for a deployed release. Looks them up once per interval. */
  async warn(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { phase, memory, intervalMs, now } = this.#options;
    if (!this.#warns || phase.report.lacking !== undefined) return;
    const { permissions } = memory.of(phase.extension);
    const sinceMs = permissions ? now() - permissions.checkedAt : Number.POSITIVE_INFINITY;
    if (!permissions || sinceMs < 0 || sinceMs >= intervalMs) this.report(await this.find(await subject()));
    else if (permissions.lacking !== undefined) phase.report.lacking = permissions.lacking;
  }

  /** With Warn, looks up the missing permissions after a denial. Does not cache them, because they may be granted before the next reconcile. */
  async warnAfterDenial(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { phase, memory } = this.#options;
    if (!this.#warns) return;
    delete phase.report.lacking;
    this.report(await this.find(await subject()));
    delete memory.of(phase.extension).permissions;
  }

  /** Whether missing permissions only cause a warning. */
  get #warns(): boolean {
    return this.#options.phase.extension.spec.install?.permissions === "Warn";
  }
}

/** Returns the problem for missing permissions that do not stop a release. */
function toWarning({ problem }: MissingPermissions): Problem {
  return { ...problem, severity: "Warning" };
}

/** Returns the error for a release with missing permissions; the controller retries when they are granted. */
export function newPermissionsError({ text, problem, isOver }: MissingPermissions): WaitingError {
  return new WaitingError(Reason.Retrying, text, { isOver, problems: [problem] });
}

/** Returns the error for a denied release if missing permissions may be the cause. */
export function withMissingPermissions(err: unknown, { text, problem, isOver }: MissingPermissions): WaitingError {
  const reason = err instanceof DeniedError ? err.apiMessage : getErrorMessage(err);
  const problems = [{ ...problem, message: `${problem.message}: ${reason}` }];
  return new WaitingError(Reason.Retrying, text, { cause: err, isOver, problems });
}
