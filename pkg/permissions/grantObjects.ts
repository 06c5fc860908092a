import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_PERMISSIONS_FOR, MANAGED_ACCOUNT_PREFIX } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildRoles, buildTokenRule, roleAndBinding, type Subject } from "../rbac/installerManifests.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { compareText } from "../text/compare.ts";

/** Prefixes of the names of all objects that permission-manager creates; config/permissions/admission.yaml requires them. */
const TOKEN_PREFIX = "olmv1-token-";
const READ_PREFIX = "olmv1-read-";

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
  return [MANAGED_ACCOUNT_PREFIX, TOKEN_PREFIX, READ_PREFIX].some((prefix) => name.startsWith(prefix));
}

/** The rules of an extension, and whether its ServiceAccount has them. */
export interface GrantedAccess {
  readonly rules: RequiredRules;
  /** The rules that the ServiceAccount has instead of `rules` while nothing is changed; absent if it has `rules`. */
  readonly readRules?: RequiredRules;
}

/**
 * Returns the objects that give an extension its identity and exactly its rules: the ServiceAccount, its roles and bindings, and the permission
 * of operator-controller to request its tokens. In the order of the apply. The roles always contain all rules; if the extension only has read
 * rules, they are not bound.
 * @param controller identity of operator-controller
 */
export function buildGrantObjects(
  extension: string,
  namespace: string,
  { rules, readRules }: GrantedAccess,
  controller: Subject,
): KubeObject[] {
  const name = getGrantName(extension);
  const subject: Subject = { kind: "ServiceAccount", namespace, name };
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  const full = buildRoles(() => name, rules, subject);
  const own = readRules
    ? [...full.filter(({ kind }) => !kind.endsWith("Binding")), ...buildRoles(() => `${READ_PREFIX}${extension}`, readRules, subject)]
    : full;
  const token = roleAndBinding({ name: `${TOKEN_PREFIX}${extension}`, namespace }, [buildTokenRule(name)], controller);
  return [account, ...own, ...token].map((object) => labelForExtension(extension, object));
}

/** Returns an object with the label of the extension that it belongs to. */
export function labelForExtension(extension: string, object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [LABEL_PERMISSIONS_FOR]: extension };
  return { ...object, metadata: { ...object.metadata, labels } };
}

/** Returns the rules in the roles of an extension. Ignores the roles for tokens and for read permissions. */
export function readGrantedRules(extension: string, roles: readonly KubeObject[]): RequiredRules {
  return readRoles(getGrantName(extension), roles);
}

/** Returns the rules that an extension has while nothing is changed, in its roles for read permissions. */
export function readReadOnlyRules(extension: string, roles: readonly KubeObject[]): RequiredRules {
  return readRoles(`${READ_PREFIX}${extension}`, roles);
}

function readRoles(name: string, roles: readonly KubeObject[]): RequiredRules {
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

const READ_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** Returns the read permissions in `rules`. A rule with all verbs becomes a rule with get, list and watch. */
export function selectReadRules({ clusterRules, namespaceRules, unknownKinds }: RequiredRules): RequiredRules {
  const select = (rules: readonly PolicyRule[]): PolicyRule[] =>
    rules.flatMap((rule) => {
      const verbs = rule.verbs.includes("*") ? [...READ_VERBS] : rule.verbs.filter((verb) => READ_VERBS.has(verb));
      return verbs.length > 0 ? [{ ...rule, verbs }] : [];
    });
  const namespaced = [...namespaceRules].map(([namespace, rules]): [string, PolicyRule[]] => [namespace, select(rules)]);
  return {
    clusterRules: select(clusterRules),
    namespaceRules: new Map(namespaced.filter(([, rules]) => rules.length > 0)),
    unknownKinds,
  };
}
