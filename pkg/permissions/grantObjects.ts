import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_PERMISSIONS_FOR, MANAGED_ACCOUNT_PREFIX } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildTokenRule, type Installer, roleAndBinding, type Subject } from "../rbac/installerManifests.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { compareText } from "../text/compare.ts";

/** Prefixes of the names of all objects that permission-manager creates; config/permissions/admission.yaml requires them. */
const TOKEN_PREFIX = "olmv1-token-";

/** Returns the name of the ServiceAccount and the roles of an extension. At most 69 characters. */
export function getGrantName(extension: string): string {
  return `${MANAGED_ACCOUNT_PREFIX}${extension}`;
}

/** Returns the name of the ServiceAccount that manages an extension's objects: the one in spec, or the one that permission-manager creates. */
export function getAccountName({ metadata, spec }: Pick<ClusterExtension, "metadata" | "spec">): string {
  return spec.serviceAccount?.name || getGrantName(metadata.name);
}

/** Reports whether permission-manager creates objects with this name. */
export function isGrantName(name: string): boolean {
  return name.startsWith(MANAGED_ACCOUNT_PREFIX) || name.startsWith(TOKEN_PREFIX);
}

/** Returns the ServiceAccount of an extension. */
export function getManagedInstaller(extension: string, namespace: string): Installer {
  return { namespace, name: getGrantName(extension) };
}

/**
 * Returns the objects that give an extension its identity and exactly `rules`: the ServiceAccount, its roles and bindings, and the permission
 * of operator-controller to request its tokens. In the order of the apply.
 * @param controller identity of operator-controller
 */
export function buildGrantObjects(extension: string, namespace: string, rules: RequiredRules, controller: Subject): KubeObject[] {
  const name = getGrantName(extension);
  const subject: Subject = { kind: "ServiceAccount", namespace, name };
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  const cluster = rules.clusterRules.length > 0 ? roleAndBinding({ name }, rules.clusterRules, subject) : [];
  const namespaced = [...rules.namespaceRules].flatMap(([where, own]) =>
    own.length > 0 ? roleAndBinding({ name, namespace: where }, own, subject) : [],
  );
  const token = roleAndBinding({ name: `${TOKEN_PREFIX}${extension}`, namespace }, [buildTokenRule(name)], controller);
  const objects = [account, ...cluster, ...namespaced, ...token];
  return objects.map((object) => labelForExtension(extension, object));
}

/** Returns an object with the label of the extension that it belongs to. */
export function labelForExtension(extension: string, object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [LABEL_PERMISSIONS_FOR]: extension };
  return { ...object, metadata: { ...object.metadata, labels } };
}

/** Returns the rules in the roles of an extension. Ignores the role for tokens, which belongs to operator-controller. */
export function readGrantedRules(extension: string, roles: readonly KubeObject[]): RequiredRules {
  const name = getGrantName(extension);
  const own = roles.filter(({ metadata }) => metadata.name === name);
  const read = (role: KubeObject): PolicyRule[] => (Array.isArray(role["rules"]) ? (role["rules"] as PolicyRule[]) : []);
  const namespaced = own
    .filter(({ kind }) => kind === "Role")
    .sort((a, b) => compareText(a.metadata.namespace ?? "", b.metadata.namespace ?? ""));
  return {
    clusterRules: own.filter(({ kind }) => kind === "ClusterRole").flatMap(read),
    namespaceRules: new Map(namespaced.map((role) => [role.metadata.namespace ?? "", read(role)])),
    unknownKinds: [],
  };
}
