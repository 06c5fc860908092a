import { groupOf, type JsonObject, type KubeObject, versionOf } from "../api/k8s.ts";
import { CLASSIC_GROUP } from "../api/migration.ts";
import { readObjectField, readObjectListField, readTextField } from "./objectFields.ts";

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
  const [spec, status] = [readObjectField(object, "spec"), readObjectField(object, "status")];
  const [packageName, other] = [readTextField(spec, "name") ?? readTextField(spec, "package"), readTextField(spec, "package")];
  const conditions = readObjectListField(status, "conditions").filter((condition) => condition["status"] === "True");
  const label = `Subscription "${namespace}/${name}"`;
  if (packageName === undefined) throw new Error(`${label} names no package: spec.name is empty`);
  if (other !== undefined && other !== packageName)
    throw new Error(`${label} names two packages: spec.name is "${packageName}", spec.package is "${other}"`);
  return {
    namespace,
    name,
    uid,
    packageName,
    channel: readTextField(spec, "channel"),
    source: readTextField(spec, "source"),
    sourceNamespace: readTextField(spec, "sourceNamespace"),
    approval: readTextField(spec, "installPlanApproval") === "Manual" ? "Manual" : "Automatic",
    installedCsv: readTextField(status, "installedCSV"),
    currentCsv: readTextField(status, "currentCSV"),
    state: readTextField(status, "state"),
    isDeleted: metadata.deletionTimestamp !== undefined,
    needsApproval: conditions.some((condition) => condition["reason"] === "RequiresApproval"),
    plan: readTextField(readObjectField(status, "installPlanRef"), "name"),
    troubles: conditions.flatMap((condition) => troubleOf(condition) ?? []),
    config: readObjectField(spec, "config"),
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
  const type = readTextField(condition, "type") ?? "";
  if (!TROUBLES.has(type)) return undefined;
  const message = readTextField(condition, "message") ?? readTextField(condition, "reason");
  return (message === undefined ? type : `${type}: ${message}`).slice(0, TROUBLE_MAX);
}

/** "namespace/name". */
export function getSubscriptionKey({ namespace, name }: Pick<Subscription, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
