import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";

/** Condition for the chart: cluster-olm-operator renders and applies it. */
export const BY_CLUSTER_OLM_OPERATOR = ".Values.openshift.clusterOlmOperator";

/** The ClusterRole of each ServiceAccount. */
const SERVER_ROLES: ReadonlyMap<string, string> = new Map([
  ["operator-controller-controller-manager", "operator-controller-manager-role"],
  ["catalogd-controller-manager", "catalogd-manager-role"],
  ["permission-manager-controller-manager", "permission-manager"],
]);
/**
 * With experimental feature sets, cluster-olm-operator creates no Deployment until operator-controller may use SCC privileged. Its Pods use
 * restricted-v2, and the pod security level of the namespace denies others.
 * @see https://issues.redhat.com/browse/OCPBUGS-77899
 */
const SCC_RULE = `{{- if and ${BY_CLUSTER_OLM_OPERATOR} (eq .Values.options.featureSet "experimental") }}
  # cluster-olm-operator waits for this permission. The Pods do not use it: they have annotation openshift.io/required-scc: restricted-v2.
  - apiGroups: [security.openshift.io]
    resources: [securitycontextconstraints]
    resourceNames: [privileged]
    verbs: [use]
{{- end }}
`;
const PROXY_ROLE = /-proxy-role$/;
const RULES = "\nrules:\n";

/** A manifest, and the condition under which the chart contains it; "" means always. */
export interface ChartManifest {
  readonly text: string;
  readonly when: string;
}

/** The rules of a ClusterRole, and the server that they are for. */
interface MergedRules {
  readonly role: string;
  readonly serverRole: string;
  readonly rules: string;
  readonly when: string;
}

type Binding = KubeObject & { roleRef: { name: string }; subjects: { name: string }[] };

/**
 * Merges the ClusterRoles of each server into one if cluster-olm-operator applies the chart, because it may bind only a few names. All servers keep
 * exactly their permissions. permission-manager has a ClusterRole whose name may be bound, and that nothing else uses.
 * @throws Error if a ClusterRoleBinding refers to a ClusterRole that is not in the manifests.
 * @see https://github.com/openshift/cluster-olm-operator/blob/9983877d/manifests/0000_51_olm_02_operator_clusterrole.yaml
 */
export function mergeServerRoles(manifests: readonly ChartManifest[]): ChartManifest[] {
  const merged = manifests.flatMap((manifest) => listMergedRules(manifest, manifests));
  const names = new Set(merged.map(({ role }) => role));
  return manifests.map(({ text, when }) => {
    const role = getClusterRole(text);
    if (role === undefined) return { text, when };
    if (names.has(role)) return { text, when: allOf(when, `not ${BY_CLUSTER_OLM_OPERATOR}`) };
    return { text: renamePermissionManager(appendRules(text, merged)), when };
  });
}

/** Returns the condition that all conditions are true. Ignores "". */
export function allOf(...conditions: readonly string[]): string {
  const [first = "", ...others] = conditions.filter((condition) => condition !== "");
  if (others.length === 0) return first;
  return `and ${[first, ...others].map((one) => (one.includes(" ") ? `(${one})` : one)).join(" ")}`;
}

/** Returns the rules that a ClusterRoleBinding grants, for each server, unless cluster-olm-operator may bind its ClusterRole. */
function listMergedRules({ text, when }: ChartManifest, manifests: readonly ChartManifest[]): MergedRules[] {
  if (!/^kind: ClusterRoleBinding$/m.test(text) || when.includes(BY_CLUSTER_OLM_OPERATOR)) return [];
  const { roleRef, subjects } = parseYaml(text) as Binding;
  const role = roleRef.name;
  if (PROXY_ROLE.test(role) || [...SERVER_ROLES.values()].includes(role)) return [];
  const definition = manifests.find((one) => /^kind: ClusterRole$/m.test(one.text) && getClusterRole(one.text) === role);
  if (!definition) throw new Error(`ClusterRoleBinding ${role} refers to a ClusterRole that is not in the same manifests`);
  const rules = definition.text.slice(definition.text.indexOf(RULES) + RULES.length).trimEnd();
  return subjects.flatMap(({ name }) => {
    const serverRole = SERVER_ROLES.get(name);
    return serverRole === undefined ? [] : [{ role, serverRole, rules, when }];
  });
}

/** Returns the name of a ClusterRole, or of the ClusterRole that a ClusterRoleBinding grants; undefined for other kinds. */
function getClusterRole(text: string): string | undefined {
  if (/^kind: ClusterRole$/m.test(text)) return (parseYaml(text) as KubeObject).metadata.name;
  return /^kind: ClusterRoleBinding$/m.test(text) ? (parseYaml(text) as Binding).roleRef.name : undefined;
}

function appendRules(text: string, merged: readonly MergedRules[]): string {
  if (!/^kind: ClusterRole$/m.test(text)) return text;
  const added = merged.filter(({ serverRole }) => serverRole === getClusterRole(text));
  const blocks = added.map(({ rules, when }) => `{{- if ${allOf(BY_CLUSTER_OLM_OPERATOR, when)} }}\n${rules}\n{{- end }}\n`);
  const scc = getClusterRole(text) === SERVER_ROLES.get("operator-controller-controller-manager") ? SCC_RULE : "";
  return text + blocks.join("") + scc;
}

function renamePermissionManager(text: string): string {
  const name = 'name: {{ include "olmv1.permissionManagerRole" . }}\n';
  return text
    .replace(/^(kind: ClusterRole\nmetadata:\n {2})name: permission-manager\n/m, `$1${name}`)
    .replace(/^( {2}kind: ClusterRole\n {2})name: permission-manager\n/m, `$1${name}`);
}
