import { createHash } from "node:crypto";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { DependencyPlan } from "../../api/clusterExtensionStatus.ts";
import { type GroupVersionKind, getGroup, getVersion } from "../../api/k8s.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import type { Provider } from "../../resolve/constraint/constraint.ts";
import { getGvkKey } from "../../resolve/constraint/parse.ts";
import { explainNeeds, sortIntoWaves } from "../../resolve/dependencies/dependencyPlan.ts";
import type { PlanWorld } from "../../resolve/dependencies/planIndex.ts";
import { formatBundleVersion } from "../../resolve/solver/bundleFormat.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";

/** A bundle of a plan, and the extension that installs it. */
export type PlanMember = DependencyPlan["members"][number];

/** A plan in progress. */
export interface KnownPlan {
  /** Name and uid of the extension that made the plan. */
  readonly root: string;
  readonly uid: string;
  /** As stored in the status of `root`. */
  readonly status: DependencyPlan;
  /** All bundles, including that of `root`, by wave. */
  readonly members: readonly PlanMember[];
  /** The bundles by extension. Undefined after a restart until `root` has compared the plan with the catalogs. */
  readonly bundles?: ReadonlyMap<string, SolverBundle> | undefined;
  /** Whether the plan was rolled back after a failure and is not carried out at the moment. */
  readonly isRolledBack?: boolean;
  /** Why an earlier plan of `root` was no longer possible. */
  readonly replaces?: string;
}

/** A bundle to plan, and the extension that installs it. */
export interface PlanEntry {
  readonly bundle: SolverBundle;
  readonly extension: string;
  readonly image: string | undefined;
  /** Whether the plan creates the extension. */
  readonly isCreated: boolean;
}

/** Maximum length of a reason, in characters. */
const MAX_REASON = 300;

/** Builds the plan of an extension. @param root the entry of the extension itself; one of `entries` */
export function buildPlan(
  { metadata: { name, uid = "" } }: ClusterExtension,
  root: PlanEntry,
  entries: readonly PlanEntry[],
  surroundings: Omit<PlanWorld, "planned">,
): KnownPlan {
  const world = { ...surroundings, planned: entries.map(({ bundle }) => bundle) };
  const reasons = explainNeeds(world);
  const waves = sortIntoWaves(world);
  const toMember = ({ bundle, extension, image, isCreated }: PlanEntry): PlanMember => {
    const reason = reasons.get(bundle);
    return {
      extension,
      packageName: bundle.packageName,
      bundle: { name: bundle.name, version: formatBundleVersion(bundle) },
      catalog: bundle.catalog ?? "",
      ...(image === undefined ? {} : { image }),
      wave: waves.findIndex((wave) => wave.includes(bundle)) + 1,
      ...(isCreated ? { created: true } : {}),
      ...(reason === undefined ? {} : { reason: truncate(reason, MAX_REASON) }),
    };
  };
  const members = entries.map(toMember).sort(compareMembers);
  const { bundle, catalog, image, wave } = toMember(root);
  const content = {
    bundle,
    catalog,
    ...(image === undefined ? {} : { image }),
    wave,
    members: members.filter(({ extension }) => extension !== name),
  };
  const digest = `sha256:${createHash("sha256").update(encodeCanonicalJson(content)).digest("hex")}`;
  const bundles = new Map(entries.map((entry) => [entry.extension, entry.bundle]));
  return { root: name, uid, status: { digest, ...content }, members, bundles };
}

/** Returns the plan in the status of an extension; undefined if there is none. */
export function readPlan({ metadata: { name, uid = "" }, spec, status }: ClusterExtension): KnownPlan | undefined {
  const plan = status?.dependencyPlan;
  const packageName = spec?.source?.catalog?.packageName;
  if (!plan || packageName === undefined) return undefined;
  const { bundle, catalog, image, wave } = plan;
  const root = { extension: name, packageName, bundle, catalog, ...(image === undefined ? {} : { image }), wave };
  return { root: name, uid, status: plan, members: [...plan.members, root].sort(compareMembers) };
}

function compareMembers(a: PlanMember, b: PlanMember): number {
  return a.wave - b.wave || compareText(a.extension, b.extension);
}

/** Returns the bundle of a plan that an extension installs; undefined if the plan does not contain the extension. */
export function findPlanMember({ members }: Pick<KnownPlan, "members">, extension: string): PlanMember | undefined {
  return members.find((member) => member.extension === extension);
}

/** Reports whether a bundle provides the API of a kind. */
export function providesKind({ apis }: Pick<Provider, "apis">, { apiVersion, kind }: GroupVersionKind): boolean {
  const key = getGvkKey({ group: getGroup(apiVersion), version: getVersion(apiVersion), kind });
  return apis.some((api) => getGvkKey(api) === key);
}
