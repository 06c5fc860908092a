import { LABEL_OWNER_NAME, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import type { AuditEvent } from "./cluster.ts";

/** Kinds that registry+v1 bundles contain, with the group and plural name in requests. */
const BUNDLE_KINDS: readonly [apiVersion: string, kind: string, resource: string][] = [
  ["v1", "ServiceAccount", "serviceaccounts"],
  ["v1", "Service", "services"],
  ["v1", "ConfigMap", "configmaps"],
  ["v1", "Secret", "secrets"],
  ["apps/v1", "Deployment", "deployments"],
  ["rbac.authorization.k8s.io/v1", "Role", "roles"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"],
  ["apiregistration.k8s.io/v1", "APIService", "apiservices"],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"],
  ["scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"],
  ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"],
];
const MONITORS = ["servicemonitors", "prometheusrules", "podmonitors"];

/** Returns all objects on the cluster with an extension's owner label, as "Kind ns/name", sorted. */
export async function ownObjects(admin: Client, extension: string): Promise<string[]> {
  const found: string[] = [];
  const monitors = [{ apiVersion: "monitoring.coreos.com/v1", kind: "ServiceMonitor" }];
  for (const gvk of [...BUNDLE_KINDS.map(([apiVersion, kind]) => ({ apiVersion, kind })), ...monitors]) {
    const served = await admin.resourceFor(gvk).catch(() => undefined);
    if (!served) continue;
    const { items } = await admin.list(gvk, { labelSelector: `${LABEL_OWNER_NAME}=${extension}` });
    found.push(...items.map(describeObject));
  }
  return found.sort();
}

/** Returns the releases of an extension with their states, such as "v1 superseded", oldest first. */
export async function releaseStates(admin: Client, extension: string): Promise<string[]> {
  const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: `owner=operator-controller,type=index,name=${extension}` };
  const { items } = await admin.list({ apiVersion: "v1", kind: "Secret" }, selection);
  return items.map(({ metadata: { labels } }) => `v${labels?.["version"]} ${labels?.["status"]}`).sort();
}

/** Returns the Events about an object of that name, as "Reason: message". */
export async function eventTexts(admin: Client, name: string): Promise<string[]> {
  const { items } = await admin.list({ apiVersion: "v1", kind: "Event" }, { fieldSelector: `involvedObject.name=${name}` });
  return items.map((event) => `${String(event["reason"])}: ${String(event["message"])}`);
}

/**
 * Filters requests for kinds that bundles contain, of any verb, outside the system namespace, which holds the release Secrets.
 * Subresources are excluded: minting a token is a request for serviceaccounts/token.
 */
export function bundleWrites(events: readonly AuditEvent[]): AuditEvent[] {
  const resources = new Set([...BUNDLE_KINDS.map(([, , resource]) => resource), ...MONITORS]);
  return events.filter(({ objectRef }) => {
    if (!objectRef || objectRef.subresource !== undefined || objectRef.namespace === "olmv1-system") return false;
    return resources.has(objectRef.resource);
  });
}
