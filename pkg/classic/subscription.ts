import { groupOf, type JsonObject, type KubeObject, versionOf } from "../api/k8s.ts";
import { objectAt, textAt } from "./members.ts";
import { CLASSIC_GROUP } from "./names.ts";

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
  const [packageName, other] = [textAt(spec, "name") ?? textAt(spec, "package"), textAt(spec, "package")];
  const label = `Subscription "${namespace}/${name}"`;
  if (packageName === undefined) throw new Error(`${label} names no package: spec.name is empty`);
  if (other !== undefined && other !== packageName)
    throw new Error(`${label} names two packages: spec.name is "${packageName}", spec.package is "${other}"`);
  return {
    namespace,
    name,
    uid,
    packageName,
    channel: textAt(spec, "channel"),
    source: textAt(spec, "source"),
    sourceNamespace: textAt(spec, "sourceNamespace"),
    approval: textAt(spec, "installPlanApproval") === "Manual" ? "Manual" : "Automatic",
    installedCsv: textAt(status, "installedCSV"),
    currentCsv: textAt(status, "currentCSV"),
    state: textAt(status, "state"),
    config: objectAt(spec, "config"),
    generatedBy: annotations?.["olm.generated-by"],
  };
}
