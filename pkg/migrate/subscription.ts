import { getGroup, getVersion, type JsonObject, type KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION, CLASSIC_GROUP } from "../api/migration.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";

/** An OLM v0 Subscription with its state. */
export interface Subscription {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly packageName: string;
  readonly channel?: string | undefined;
  /** Name and namespace of the CatalogSource. */
  readonly source?: string | undefined;
  readonly sourceNamespace?: string | undefined;
  readonly approval: "Automatic" | "Manual";
  readonly installedCsv?: string | undefined;
  readonly currentCsv?: string | undefined;
  /** Such as AtLatestKnown. */
  readonly state?: string | undefined;
  /** Whether the Subscription is being deleted. */
  readonly isDeleted: boolean;
  /** Whether the InstallPlan waits for approval, according to a condition. */
  readonly needsApproval: boolean;
  /** Name of the latest InstallPlan. */
  readonly plan?: string | undefined;
  /** Problems that OLM v0 reports in the conditions, each with at most 200 characters. */
  readonly troubles: readonly string[];
  /** Deployment settings; empty if there are none. */
  readonly config: JsonObject;
  /** Whether it only stands for a ClusterServiceVersion without Subscription. */
  readonly isOrphan: boolean;
  /** The InstallPlan that created the Subscription as a dependency of another operator. */
  readonly generatedBy?: string | undefined;
}

/** API versions of Subscriptions and InstallPlans that documentation and clusters use. OLM v0 serves the first one. */
export const SUBSCRIPTION_VERSIONS = ["v1alpha1", "v1"] as const;

/**
 * Parses a Subscription. The package is in `spec.name` or, as in some documentation, in `spec.package`.
 * @throws Error for another kind or API version, and if the Subscription has no package or two different packages
 */
export function parseSubscription(object: KubeObject): Subscription {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace = "", uid, annotations } = metadata;
  const isKnown = SUBSCRIPTION_VERSIONS.some((version) => version === getVersion(apiVersion));
  if (kind !== "Subscription" || getGroup(apiVersion) !== CLASSIC_GROUP || !isKnown)
    throw new Error(
      `${kind} (${apiVersion}) "${name}" is not a Subscription of ${CLASSIC_GROUP}/${SUBSCRIPTION_VERSIONS.join(` or ${CLASSIC_GROUP}/`)}`,
    );
  const [spec, status] = [getObjectAt(object, "spec"), getObjectAt(object, "status")];
  const [packageName, other] = [getNonEmptyText(spec, "name") ?? getNonEmptyText(spec, "package"), getNonEmptyText(spec, "package")];
  const conditions = getObjectsAt(status, "conditions").filter((condition) => condition["status"] === "True");
  const label = `Subscription "${namespace}/${name}"`;
  if (packageName === undefined) throw new Error(`${label} has no package: spec.name is empty`);
  if (other !== undefined && other !== packageName)
    throw new Error(`${label} has two packages: spec.name is "${packageName}", spec.package is "${other}"`);
  return {
    namespace,
    name,
    uid,
    packageName,
    channel: getNonEmptyText(spec, "channel"),
    source: getNonEmptyText(spec, "source"),
    sourceNamespace: getNonEmptyText(spec, "sourceNamespace"),
    approval: getNonEmptyText(spec, "installPlanApproval") === "Manual" ? "Manual" : "Automatic",
    installedCsv: getNonEmptyText(status, "installedCSV"),
    currentCsv: getNonEmptyText(status, "currentCSV"),
    state: getNonEmptyText(status, "state"),
    isDeleted: metadata.deletionTimestamp !== undefined,
    needsApproval: conditions.some((condition) => condition["reason"] === "RequiresApproval"),
    plan: getNonEmptyText(getObjectAt(status, "installPlanRef"), "name"),
    troubles: conditions.flatMap((condition) => findTrouble(condition) ?? []),
    config: getObjectAt(spec, "config"),
    isOrphan: isOrphan(object),
    generatedBy: annotations?.["olm.generated-by"],
  };
}

/** Reports whether a Subscription only stands for a ClusterServiceVersion without one. */
export function isOrphan({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[ANNOTATION_WITHOUT_SUBSCRIPTION] !== undefined;
}

/** Condition types for which status True is a problem. */
const TROUBLES: ReadonlySet<string> = new Set([
  "CatalogSourcesUnhealthy",
  "InstallPlanMissing",
  "InstallPlanFailed",
  "ResolutionFailed",
  "BundleUnpackFailed",
]);
const TROUBLE_MAX = 200;

function findTrouble(condition: JsonObject): string | undefined {
  const type = getNonEmptyText(condition, "type") ?? "";
  if (!TROUBLES.has(type)) return undefined;
  const message = getNonEmptyText(condition, "message") ?? getNonEmptyText(condition, "reason");
  return (message === undefined ? type : `${type}: ${message}`).slice(0, TROUBLE_MAX);
}

/** Returns "namespace/name" of a Subscription or ClusterServiceVersion. */
export function getNamespacedName({ namespace, name }: Pick<Subscription, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
