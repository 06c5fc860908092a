import { type ClusterExtension, isApproved } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType } from "../../api/constants.ts";
import type { GroupVersionKind } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatTime } from "../../golang/time.ts";
import { getRetryTime } from "../../release/rollbackBackoff.ts";
import type { InstalledPeer } from "../../resolve/dependencies/dependencyCheck.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import type { InstalledBundles } from "../releases/installedReleases.ts";
import { findPlanMember, type KnownPlan, type PlanEntry, type PlanMember, providesKind, readPlan } from "../state/knownPlan.ts";
import { isDependencyExtension } from "./dependencyLabels.ts";

/** Maximum length of a message from another extension, in characters. */
const MAX_MESSAGE = 300;
/** Maximum length of the message about a failure, in characters. */
const MAX_FAILURE = 1_000;

/**
 * The stages in which the bundles of a wave are installed. No bundle enters a stage before all have completed the one before.
 * - `checked`: every check before the first write has succeeded.
 * - `defined`: its CustomResourceDefinitions are applied.
 */
const WAVE_STAGES = ["checked", "defined"] as const;
export type WaveStage = (typeof WAVE_STAGES)[number];

/** Dependencies of DependencyPlans. */
export interface DependencyPlansOptions {
  /** Enqueues an extension. */
  enqueue: (extension: string) => void;
  extensions: { get(name: string): ClusterExtension | undefined };
  installed: Pick<InstalledBundles, "list">;
}

/** The plans in progress. The status of each root stores its plan; a restarted controller loads it from there. */
export class DependencyPlans {
  readonly #options: DependencyPlansOptions;
  readonly #plans = new Map<string, KnownPlan>();
  /** Uids of the extensions whose plans are known, by name. Their status may still contain an earlier plan. */
  readonly #seen = new Map<string, string>();
  /** By digest of the plan: the last stage that each extension has reached. */
  readonly #stages = new Map<string, Map<string, WaveStage>>();
  /** Why a plan must be replaced, by root. */
  readonly #rejections = new Map<string, string>();
  /** Why a plan must be rolled back, by root. */
  readonly #failures = new Map<string, string>();
  /** Why the last plan was dropped, by root. */
  readonly #dropped = new Map<string, string>();

  constructor(options: DependencyPlansOptions) {
    this.#options = options;
  }

  /** Returns the same plans. Changes of the copy do not affect this object. */
  copy(): DependencyPlans {
    const copy = new DependencyPlans({ ...this.#options, enqueue: () => undefined });
    for (const plan of this.#plans.values()) copy.set(plan);
    for (const [root, reason] of this.#rejections) copy.reject(root, reason);
    return copy;
  }

  /** Loads the plan of an extension that the controller sees for the first time. */
  load(extension: ClusterExtension): void {
    const { name, uid = "" } = extension.metadata;
    if (this.#seen.get(name) === uid) return;
    this.#seen.set(name, uid);
    const plan = readPlan(extension);
    if (plan) this.#plans.set(name, plan);
    else this.#plans.delete(name);
  }

  set(plan: KnownPlan): void {
    this.#seen.set(plan.root, plan.uid);
    this.#plans.set(plan.root, plan);
    this.#rejections.delete(plan.root);
    this.#dropped.delete(plan.root);
  }

  remove(root: string): void {
    this.#stages.delete(this.#plans.get(root)?.status.digest ?? "");
    this.#plans.delete(root);
    this.#rejections.delete(root);
    this.#failures.delete(root);
    this.#dropped.delete(root);
  }

  /** Returns the plan that an extension has made. */
  of(root: string): KnownPlan | undefined {
    return this.#plans.get(root);
  }

  /**
   * Returns the plan that an extension must follow: its own, or else the first one that contains the extension, by name of the root. Plans that were
   * rolled back are last.
   */
  find(extension: string): KnownPlan | undefined {
    return this.#plans.get(extension) ?? this.#listContaining(extension)[0];
  }

  #listContaining(extension: string): KnownPlan[] {
    const containing = [...this.#plans.values()].filter((plan) => findPlanMember(plan, extension) !== undefined);
    return containing.sort((a, b) => Number(a.isRolledBack ?? false) - Number(b.isRolledBack ?? false) || compareText(a.root, b.root));
  }

  /** Notes why the plan of `root` must be replaced. Its extensions wait until `root` has done so. */
  reject(root: string, reason: string): void {
    if (this.#plans.has(root)) this.#rejections.set(root, reason);
  }

  /** Returns why the plan of `root` must be replaced; undefined if it is not rejected. */
  getRejection(root: string): string | undefined {
    return this.#rejections.get(root);
  }

  /** Removes a plan that is no longer possible, and notes why. */
  drop(root: string, reason: string): void {
    this.remove(root);
    this.#dropped.set(root, reason);
  }

  /** Returns why the last plan of `root` was dropped, if `root` has made none since. */
  getDropReason(root: string): string | undefined {
    return this.#dropped.get(root);
  }

  /**
   * Reports whether the approval of a plan covers an extension: its root, or one that was created as a dependency. If the root requires no approval,
   * neither do the others.
   */
  isApproved(extension: ClusterExtension): boolean {
    const { name } = extension.metadata;
    const plan = this.find(name);
    const root = plan && this.#options.extensions.get(plan.root);
    if (!plan || !root || (plan.root !== name && !isDependencyExtension(extension))) return false;
    return (plan.root !== name && root.spec.approval !== "Manual") || isApproved(root, plan.status.digest);
  }

  /** Reports whether every bundle of a plan is installed and, if the plan would be rolled back after a failure, healthy. */
  isComplete({ root, members }: KnownPlan): boolean {
    const rollsBack = this.#options.extensions.get(root)?.spec.install?.onFailure === "Rollback";
    return members.every((member) => this.#isInstalled(member) && (!rollsBack || this.#isHealthy(member)));
  }

  #isHealthy({ extension, bundle }: PlanMember): boolean {
    const { conditions, install } = this.#options.extensions.get(extension)?.status ?? {};
    return install?.bundle.name === bundle.name && findCondition(conditions, ConditionType.Available)?.status === "True";
  }

  /**
   * Notes that an extension of plans failed, and enqueues the root of each plan, which rolls it back.
   * @returns false if the extension is in no plan
   */
  fail(extension: string, message: string): boolean {
    const plans = this.#listContaining(extension);
    for (const { root, isRolledBack } of plans) {
      // An extension may report the failure of an attempt that has been rolled back meanwhile.
      if (this.#failures.has(root) || isRolledBack) continue;
      this.#failures.set(root, message);
      this.#options.enqueue(root);
    }
    return plans.length > 0;
  }

  /** Returns why the plan of `root` must be rolled back; undefined if it must not. */
  getFailure(root: string): string | undefined {
    return this.#failures.get(root);
  }

  /** Notes that a plan was rolled back. */
  recordFailure(root: string, { message, generation, at }: { message: string; generation: number; at: number }): void {
    const plan = this.#plans.get(root);
    if (!plan) return;
    const attempts = (plan.status.failure?.attempts ?? 0) + 1;
    const retryAt = formatTime(new Date(getRetryTime({ at: formatTime(new Date(at)), attempts })));
    const failure = { message: truncate(message, MAX_FAILURE), attempts, generation, retryAt };
    this.#stages.delete(plan.status.digest);
    this.#failures.delete(root);
    this.#plans.set(root, { ...plan, isRolledBack: true, status: { ...plan.status, failure } });
  }

  /** Notes that a plan that was rolled back is carried out again. */
  resume(root: string): void {
    const plan = this.#plans.get(root);
    if (plan?.isRolledBack) this.#plans.set(root, { ...plan, isRolledBack: false });
  }

  /**
   * Returns the bundles of other plans that are not installed yet, once per extension. Reads those that are not known since a restart with `find`;
   * omits those that it does not find.
   */
  listOfOthers(root: string, find: (member: PlanMember) => SolverBundle | undefined): PlanEntry[] {
    const entries = new Map<string, PlanEntry>();
    for (const plan of this.#plans.values())
      for (const member of plan.root === root ? [] : plan.members) {
        if (member.extension === root || entries.has(member.extension) || this.#isInstalled(member)) continue;
        const bundle = plan.bundles?.get(member.extension) ?? find(member);
        if (bundle) entries.set(member.extension, { bundle, extension: member.extension, image: member.image, isCreated: false });
      }
    return [...entries.values()].sort((a, b) => compareText(a.extension, b.extension));
  }

  /** Returns the bundles that an extension may take as installed: those that its plan installs together with it. */
  listGiven(extension: string): InstalledPeer[] {
    const plan = this.find(extension);
    return listWaveMembers(plan, extension).flatMap((member) => {
      const bundle = plan?.bundles?.get(member.extension);
      return bundle && !this.#isInstalled(member) ? [toPeer(member.extension, bundle)] : [];
    });
  }

  /** Returns the other extensions in the wave of an extension whose bundles are not installed yet. */
  listPartners(extension: string): PlanMember[] {
    return listWaveMembers(this.find(extension), extension).filter((member) => !this.#isInstalled(member));
  }

  /**
   * Notes that an extension has reached a stage of the installation of its wave, and enqueues it and its partners.
   * @returns the partners that have not reached it, one clause each; empty if the extension may continue
   */
  reach(extension: string, stage: WaveStage): string[] {
    const plan = this.find(extension);
    if (!plan) return [];
    const partners = this.listPartners(extension);
    if (!this.hasReached(extension, stage)) {
      const stages = this.#stages.get(plan.status.digest) ?? new Map<string, WaveStage>();
      this.#stages.set(plan.status.digest, stages.set(extension, stage));
      for (const name of [extension, ...partners.map((partner) => partner.extension)]) this.#options.enqueue(name);
    }
    return partners.filter((partner) => !this.hasReached(partner.extension, stage)).map((partner) => this.formatMember(partner));
  }

  /** Reports whether an extension has reached a stage in the installation of its wave since the controller started. */
  hasReached(extension: string, stage: WaveStage): boolean {
    const plan = this.find(extension);
    const reached = plan && this.#stages.get(plan.status.digest)?.get(extension);
    return reached !== undefined && WAVE_STAGES.indexOf(reached) >= WAVE_STAGES.indexOf(stage);
  }

  /** Reports whether a bundle in the wave of an extension provides an API. */
  isProvidedByPartner(extension: string, kind: GroupVersionKind): boolean {
    return this.listGiven(extension).some(({ provider }) => providesKind(provider, kind));
  }

  /**
   * Returns the extensions of earlier waves that an extension waits for, one clause each. An extension without its own plan may continue as soon as one
   * of the plans that install the same bundle allows it, because the other plans may need more.
   */
  listWaiting(extension: string): string[] {
    const plan = this.find(extension);
    if (!plan) return [];
    const own = findPlanMember(plan, extension);
    const others = plan.root === extension || plan.isRolledBack ? [] : this.#listContaining(extension);
    const isSame = (other: KnownPlan): boolean => !other.isRolledBack && findPlanMember(other, extension)?.bundle.name === own?.bundle.name;
    if (others.some((other) => isSame(other) && this.#listEarlier(other, extension).length === 0)) return [];
    return this.#listEarlier(plan, extension).map((member) => this.formatMember(member));
  }

  /** Returns the members of earlier waves whose bundles are not installed yet. */
  #listEarlier(plan: KnownPlan, extension: string): PlanMember[] {
    const own = findPlanMember(plan, extension);
    return own ? plan.members.filter((member) => member.wave < own.wave && !this.#isInstalled(member)) : [];
  }

  /** Formats an extension of a plan and what it waits for, such as `ClusterExtension "b" (package "b"): Retrying: …`. */
  formatMember({ extension, packageName }: PlanMember): string {
    const found = this.#options.extensions.get(extension);
    const name = `ClusterExtension ${goQuote(extension)} (package ${goQuote(packageName)})`;
    if (!found) return `${name}, created as a dependency`;
    const progressing = findCondition(found.status?.conditions, ConditionType.Progressing);
    if (!progressing || progressing.reason === "Succeeded") return name;
    return `${name}: ${progressing.reason}: ${truncate(progressing.message, MAX_MESSAGE)}`;
  }

  #isInstalled({ extension, bundle }: PlanMember): boolean {
    return this.#options.installed.list().some((one) => one.extension === extension && one.name === bundle.name);
  }
}

function listWaveMembers(plan: KnownPlan | undefined, extension: string): PlanMember[] {
  const own = plan && findPlanMember(plan, extension);
  return plan?.members.filter((member) => member !== own && member.wave === own?.wave) ?? [];
}

/** Returns a planned bundle as if the extension had installed it. */
export function toPeer(extension: string, bundle: SolverBundle): InstalledPeer {
  return { extension, bundle: bundle.name, provider: bundle, declared: { constraints: bundle.constraints, faults: [] } };
}
