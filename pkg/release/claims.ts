import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { describeObject } from "./identity.ts";

/** Names of field managers beyond this many are not listed. */
const MANAGERS = 3;

/**
 * Who claims a live object that no controller owns, from the marks that installers leave, and what to do about it.
 * A sentence for the end of a message, such as `it belongs to Helm release "ns/name": …`.
 */
export function claimOf(live: KubeObject): string {
  const claimant = claimantOf(live);
  return claimant ? `it belongs to ${claimant.who}: ${claimant.remedy}` : ofNobody(live);
}

/** Whom the marks of an installer name, such as `Helm release "ns/name"`, and what to do about it; undefined where they name none. */
export function claimantOf(live: KubeObject): { who: string; remedy: string } | undefined {
  return ofHelm(live) ?? ofClassicOlm(live) ?? ofApiServer(live);
}

function ofHelm({ metadata: { annotations } }: KubeObject): ReturnType<typeof claimantOf> {
  const name = annotations?.["meta.helm.sh/release-name"];
  if (name === undefined) return undefined;
  const namespace = annotations?.["meta.helm.sh/release-namespace"];
  const release = namespace ? `${namespace}/${name}` : name;
  return { who: `Helm release "${release}"`, remedy: "uninstall that release first" };
}

/** Objects of the older lifecycle manager, and CRDs that it installed, carry these labels. */
function ofClassicOlm({ metadata: { labels } }: KubeObject): ReturnType<typeof claimantOf> {
  const remedy = "convert that Subscription (olmv1 migrate check), or remove it and its ClusterServiceVersion first";
  if (labels?.["olm.owner"] !== undefined) {
    const namespace = labels["olm.owner.namespace"];
    const csv = namespace ? `${namespace}/${labels["olm.owner"]}` : labels["olm.owner"];
    return { who: `${labels["olm.owner.kind"] ?? "ClusterServiceVersion"} "${csv}" of the classic Operator Lifecycle Manager`, remedy };
  }
  const component = Object.keys(labels ?? {}).find((key) => key.startsWith("operators.coreos.com/"));
  if (component === undefined) return undefined;
  return { who: `Operator "${component.slice(component.indexOf("/") + 1)}" of the classic Operator Lifecycle Manager`, remedy };
}

/** APIServices of what the API server serves itself; it makes them anew when they are deleted. */
function ofApiServer({ metadata: { labels } }: KubeObject): ReturnType<typeof claimantOf> {
  if (labels?.["kube-aggregator.kubernetes.io/automanaged"] === undefined) return undefined;
  const remedy = "a bundle cannot serve it in its place";
  return { who: "the API server, which serves that group and version itself or by a CustomResourceDefinition", remedy };
}

function ofNobody(live: KubeObject): string {
  const managedBy = live.metadata.labels?.["app.kubernetes.io/managed-by"];
  const writers = managersOf(live);
  const hints = [
    managedBy === undefined ? "" : `label app.kubernetes.io/managed-by says "${managedBy}"`,
    writers === "" ? "" : `it was written by ${writers}`,
  ];
  const hint = hints.filter((part) => part !== "").join(", ");
  return `it belongs to nobody in particular${hint === "" ? "" : ` (${hint})`}: delete ${describeObject(live)} if it is not needed, and the install goes on by itself`;
}

/** Such as `"kubectl-create", "helm"`: the managers that wrote something other than the status. */
function managersOf({ metadata: { managedFields = [] } }: KubeObject): string {
  const names = managedFields.filter((entry: JsonObject) => entry["subresource"] === undefined || entry["subresource"] === "");
  const unique = [...new Set(names.flatMap(({ manager }) => (typeof manager === "string" ? [manager] : [])))];
  return unique
    .slice(0, MANAGERS)
    .map((name) => `"${name.slice(0, 128)}"`)
    .join(", ");
}
