import { type ClusterExtension, isApproved } from "../../api/clusterExtension.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import type { FilteredCatalogs } from "../../resolve/resolution.ts";
import { chooseBest } from "../../resolve/resolve.ts";
import type { DependencyResolution, RejectedBundle } from "../dependencies/dependencyChoice.ts";
import type { DependencyPlans } from "../dependencies/dependencyPlans.ts";
import type { ResolveServices } from "../reconcile/resolve.ts";
import { type KnownPlan, type PlanMember, providesKind } from "../state/knownPlan.ts";
import type { InstallPlanDependencies, InstallPlanMember, PlanFinding } from "./installPlan.ts";

/** Checks the dependencies of a plan like operator-controller. */
export interface PlanDependencies {
  /** @throws as `DependencyChoice.choose` */
  choose: ResolveServices["choice"]["choose"];
  /** The extensions and their plans, after `choose`. Undefined if it needed neither. */
  readonly state:
    | {
        readonly extensions: { list(): readonly ClusterExtension[] };
        readonly plans: Pick<DependencyPlans, "isApproved" | "listPartners" | "listWaiting">;
      }
    | undefined;
  /** Why the last `choose` has checked nothing, as a clause; undefined if it has. */
  readonly unchecked: string | undefined;
  /** What the last `choose` has not checked, one sentence each. */
  readonly gaps: readonly string[];
  /** Whether the catalogs are those of the cluster. */
  readonly usesClusterCatalogs: boolean;
}

/** Chooses a bundle for a plan. If the dependencies of the best bundle cannot be installed, chooses it nevertheless, so that the plan can show it. */
export class PlanChoice {
  readonly #dependencies: PlanDependencies | undefined;
  #rejected: RejectedBundle | undefined;

  /** @param dependencies if absent, dependencies are not checked */
  constructor(dependencies: PlanDependencies | undefined) {
    this.#dependencies = dependencies;
  }

  /** Chooses as `PlanDependencies.choose`. */
  readonly choose: ResolveServices["choice"]["choose"] = async (extension, filtered, selected, signal): Promise<DependencyResolution> => {
    if (!this.#dependencies) return { resolution: chooseBest(filtered) };
    const found = await this.#dependencies.choose(extension, filtered, selected, signal);
    const { resolution, rejected } = found;
    if (resolution.kind === "resolved" || !rejected || resolution.reason !== "NoMatchingBundle") return found;
    const only = keepOnly(filtered, rejected.bundle);
    const kept = only && chooseBest(only);
    if (kept?.kind !== "resolved") return found;
    this.#rejected = rejected;
    return { resolution: kept };
  };

  /** Returns why the controller rejects the chosen bundle because of its dependencies. */
  listFindings(): PlanFinding[] {
    if (!this.#rejected) return [];
    const { bundle, clauses } = this.#rejected;
    return [{ kind: "dependencies", text: `bundle ${goQuote(bundle)} cannot be installed: ${clauses.join("; ")}` }];
  }
}

function keepOnly(filtered: FilteredCatalogs, bundle: string): FilteredCatalogs | undefined {
  for (const result of filtered.results) {
    const candidate = result.allowed.find((one) => one.bundle.name === bundle);
    if (!candidate) continue;
    const catalogs = filtered.catalogs.filter(({ name }) => name === result.catalog);
    return { ...filtered, catalogs, results: [{ ...result, extraFilters: [], allowed: [candidate], best: candidate }] };
  }
  return undefined;
}

/** The bundle of a plan that provides a kind; undefined if none does. */
export type FindAwaited = (gvk: GroupVersionKind) => string | undefined;

/** Returns a function that finds the bundle of a plan that provides a kind, other than the bundle of `extension`. */
export function createFindAwaited(extension: string, plan: KnownPlan | undefined): FindAwaited {
  const others = [...(plan?.bundles ?? [])].filter(([name]) => name !== extension).map(([, bundle]) => bundle);
  return (kind) => others.find((bundle) => providesKind(bundle, kind))?.name;
}

/** Converts a plan with dependencies. @param unserved objects of the bundle whose kinds the cluster does not serve */
export function toPlanDependencies(
  { root, status, members }: KnownPlan,
  { state, usesClusterCatalogs }: PlanDependencies,
  { unserved, findAwaited }: { readonly unserved: readonly KubeObject[]; readonly findAwaited: FindAwaited },
): InstallPlanDependencies {
  const extensions = new Map((state?.extensions.list() ?? []).map((one) => [one.metadata.name, one]));
  const isStored = extensions.get(root)?.status?.dependencyPlan?.digest === status.digest;
  const toMember = (member: PlanMember): InstallPlanMember => ({
    extension: member.extension,
    created: member.created ?? false,
    packageName: member.packageName,
    bundle: member.bundle,
    catalog: member.catalog,
    wave: member.wave,
    reason: member.reason ?? null,
    installed: extensions.get(member.extension)?.status?.install?.bundle.name === member.bundle.name,
  });
  const awaited = new Map<string, InstallPlanDependencies["awaitedKinds"][number]>();
  for (const { apiVersion, kind } of unserved) {
    const bundle = findAwaited({ apiVersion, kind });
    if (bundle !== undefined) awaited.set(JSON.stringify([apiVersion, kind]), { apiVersion, kind, bundle });
  }
  const { failure } = status;
  return {
    root,
    stored: isStored,
    digest: isStored || usesClusterCatalogs ? status.digest : null,
    members: members.map(toMember),
    failure: failure ? { message: failure.message, attempts: failure.attempts, retryAt: failure.retryAt } : null,
    awaitedKinds: [...awaited.values()],
  };
}

/** Whether a plan requires approval and has it. An approval of a plan with dependencies covers all its bundles. */
export function computeApproval(
  extension: ClusterExtension,
  { digest, isDeployed, isOwnPlan }: { readonly digest: string | null; readonly isDeployed: boolean; readonly isOwnPlan: boolean },
  state: PlanDependencies["state"],
): { needed: boolean; given: boolean } {
  const isManual = extension.spec.approval === "Manual";
  const isCovered = state?.plans.isApproved(extension) ?? false;
  const isGiven = digest !== null && isApproved(extension, digest);
  return { needed: isManual && !isDeployed, given: isManual && (isOwnPlan ? isGiven : isGiven || isCovered) };
}
