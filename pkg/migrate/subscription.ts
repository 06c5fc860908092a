import { groupOf, type JsonObject, type KubeObject, versionOf } from "../api/k8s.ts";
import { CLASSIC_GROUP } from "../api/migration.ts";
import { nonEmptyText, objectAt, objectsAt } from "../golang/members.ts";

/** What a Subscription of OLM classic asks for, and what came of it. */
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
  /** It is on its way out. */
  readonly isDeleted: boolean;
  /** Its InstallPlan waits for somebody to approve it, as a condition says. */
  readonly needsApproval: boolean;
  /** Name of its latest InstallPlan. */
  readonly plan?: string | undefined;
  /** What OLM classic reports of it that is not well, each at most 200 characters. */
  readonly troubles: readonly string[];
  /** What it sets in the Deployments; empty where it sets nothing. */
  readonly config: JsonObject;
  /** The InstallPlan that made it for an operator which depends on the package. */
  readonly generatedBy?: string | undefined;
}

/** API versions under which documents and clusters have Subscriptions and InstallPlans; the first is what OLM classic serves. */
export const SUBSCRIPTION_VERSIONS = ["v1alpha1", "v1"] as const;

/**
 * Reads a Subscription. The package is in `spec.name`, and in `spec.package` of what some documents show.
 * @throws Error for an object of another kind or API version, and for one that names no package, or two different ones.
 */
export function subscriptionFrom(object: KubeObject): Subscription {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace = "", uid, annotations } = metadata;
  const isKnown = SUBSCRIPTION_VERSIONS.some((version) => version === versionOf(apiVersion));
  if (kind !== "Subscription" || groupOf(apiVersion) !== CLASSIC_GROUP || !isKnown)
    throw new Error(
      `${kind} (${apiVersion}) "${name}" is no Subscription of ${CLASSIC_GROUP}/${SUBSCRIPTION_VERSIONS.join(` or ${CLASSIC_GROUP}/`)}`,
    );
  const [spec, status] = [objectAt(object, "spec"), objectAt(object, "status")];
  const [packageName, other] = [nonEmptyText(spec, "name") ?? nonEmptyText(spec, "package"), nonEmptyText(spec, "package")];
  const conditions = objectsAt(status, "conditions").filter((condition) => condition["status"] === "True");
  const label = `Subscription "${namespace}/${name}"`;
  if (packageName === undefined) throw new Error(`${label} names no package: spec.name is empty`);
  if (other !== undefined && other !== packageName)
    throw new Error(`${label} names two packages: spec.name is "${packageName}", spec.package is "${other}"`);
  return {
    namespace,
    name,
    uid,
    packageName,
    channel: nonEmptyText(spec, "channel"),
    source: nonEmptyText(spec, "source"),
    sourceNamespace: nonEmptyText(spec, "sourceNamespace"),
    approval: nonEmptyText(spec, "installPlanApproval") === "Manual" ? "Manual" : "Automatic",
    installedCsv: nonEmptyText(status, "installedCSV"),
    currentCsv: nonEmptyText(status, "currentCSV"),
    state: nonEmptyText(status, "state"),
    isDeleted: metadata.deletionTimestamp !== undefined,
    needsApproval: conditions.some((condition) => condition["reason"] === "RequiresApproval"),
    plan: nonEmptyText(objectAt(status, "installPlanRef"), "name"),
    troubles: conditions.flatMap((condition) => troubleOf(condition) ?? []),
    config: objectAt(spec, "config"),
    generatedBy: annotations?.["olm.generated-by"],
  };
}

/** Types of conditions that are True where something is wrong. */
const TROUBLES: ReadonlySet<string> = new Set([
  "CatalogSourcesUnhealthy",
  "InstallPlanMissing",
  "InstallPlanFailed",
  "ResolutionFailed",
  "BundleUnpackFailed",
]);
const TROUBLE_MAX = 200;

function troubleOf(condition: JsonObject): string | undefined {
  const type = nonEmptyText(condition, "type") ?? "";
  if (!TROUBLES.has(type)) return undefined;
  const message = nonEmptyText(condition, "message") ?? nonEmptyText(condition, "reason");
  return (message === undefined ? type : `${type}: ${message}`).slice(0, TROUBLE_MAX);
}

/** "namespace/name". */
export function getSubscriptionKey({ namespace, name }: Pick<Subscription, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
