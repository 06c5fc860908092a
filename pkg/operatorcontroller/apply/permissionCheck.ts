import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import { messageOf } from "../../errors/errors.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import { type LackingPermissions, lackingPermissions } from "../permissions/permissions.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { configOf } from "../state/extensionSpec.ts";
import type { ActingPhase } from "../state/phases.ts";
import { DeniedError, WaitingError } from "../state/waiting.ts";
import type { ServedKinds } from "./preparedObjects.ts";
import { removals } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

/** With what, and of whom, rights are looked up. */
export interface PermissionCheckOptions {
  phase: ActingPhase;
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
    const { phase, events, signal } = this.#options;
    const { extension, releases, client } = phase;
    const pruned = removals({ history: releases.history.current, desired, crdPolicy: crdPolicyOf(extension.spec) });
    const request = { extension, config: configOf(phase), desired, pruned, images, resourceOf: kinds.resourceOf.bind(kinds) };
    const lacking = await lackingPermissions(client, request, signal);
    if (!lacking?.doubtful) events.permissions(lacking !== undefined);
    return lacking;
  }

  /** With Warn, reports the missing permissions and remembers that they were looked up. */
  tell(lacking: LackingPermissions | undefined): void {
    if (!this.#warns) return;
    const { phase, memory, now } = this.#options;
    const problem = lacking && toleratedProblem(lacking);
    memory.of(phase.extension).rights = { checkedAt: now(), lacking: problem };
    if (problem) phase.report.lacking = problem;
  }

  /** With Warn, says what is missing for a deployed release, looked up once an interval. */
  async warn(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { phase, memory, intervalMs, now } = this.#options;
    if (!this.#warns || phase.report.lacking !== undefined) return;
    const { rights } = memory.of(phase.extension);
    const sinceMs = rights ? now() - rights.checkedAt : Number.POSITIVE_INFINITY;
    if (!rights || sinceMs < 0 || sinceMs >= intervalMs) this.tell(await this.find(await subject()));
    else if (rights.lacking !== undefined) phase.report.lacking = rights.lacking;
  }

  /** The same after a refusal, of which nothing that is remembered knows; the next pass looks again, as that may be over by then. */
  async warnOfRefusal(subject: () => Promise<PermissionSubject>): Promise<void> {
    const { phase, memory } = this.#options;
    if (!this.#warns) return;
    delete phase.report.lacking;
    this.tell(await this.find(await subject()));
    delete memory.of(phase.extension).rights;
  }

  /** Whether to go on without rights that are missing. */
  get #warns(): boolean {
    return this.#options.phase.extension.spec.install?.permissions === "Warn";
  }
}

/** Returns the problem of missing permissions that do not refuse a release. */
function toleratedProblem({ problem }: LackingPermissions): Problem {
  return { ...problem, severity: "Warning" };
}

/** Returns the error that refuses a release for missing permissions; over once they are granted. */
export function permissionsError({ text, problem, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(Reason.Retrying, text, { isOver, problems: [problem] });
}

/** Returns the error of a release that was denied although it was not certain that permissions are missing. */
export function withLacking(err: unknown, { text, problem, isOver }: LackingPermissions): WaitingError {
  const said = err instanceof DeniedError ? err.said : messageOf(err);
  const problems = [{ ...problem, message: `${problem.message}: ${said}` }];
  return new WaitingError(Reason.Retrying, text, { cause: err, isOver, problems });
}
