import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { type KubeObject } from "../../pkg/api/k8s.ts";
import { type Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { RoleStrategy } from "../../pkg/rbac/escalation.ts";
import { buildInstallerManifests, getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import { type PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";

/** Creates a ServiceAccount with these rules in the whole cluster, and a client with its identity; `grant` replaces the rules. */
export interface ScopedAccount {
  client: Client;
  grant(rules: readonly PolicyRule[]): Promise<void>;
}

export async function serviceAccount(admin: Client, namespace: string, name: string, rules: readonly PolicyRule[]): Promise<ScopedAccount> {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" };
  const metadata = { name: `${namespace}-${name}` };
  const apply = (object: KubeObject): Promise<KubeObject> => admin.apply(object, { fieldManager: "test", force: true });
  const grant = async (granted: readonly PolicyRule[]): Promise<void> =>
    void (await apply({ ...rbac, kind: "ClusterRole", metadata, rules: granted }));
  await apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
  await grant(rules);
  await apply({
    ...rbac,
    kind: "ClusterRoleBinding",
    metadata,
    subjects: [{ kind: "ServiceAccount", name, namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name },
  });
  return { client: admin.withToken(new ServiceAccountTokens(admin).tokenFor(namespace, name)), grant };
}

/** Grants the withheld rules. */
export interface Granted {
  complete(): Promise<void>;
}

/**
 * Creates an extension's namespace and its ServiceAccount with exactly the rules that `objects` need.
 * @param options.without a resource whose rules are withheld until `complete`.
 * @param options.withoutVerb a verb that is withheld.
 * @param options.strategy how it may write roles with permissions that it does not have. Default: `escalate`.
 */
export async function grantInstaller(
  admin: Client,
  extension: ClusterExtension,
  objects: readonly KubeObject[],
  options: { without?: string; withoutVerb?: string; strategy?: RoleStrategy } = {},
): Promise<Granted> {
  const namespace = getNamespace(extension);
  const { serviceAccount } = extension.spec;
  const { strategy = "escalate" } = options;
  const installer = { namespace, name: serviceAccount?.name ?? "" };
  const all = buildInstallerManifests(
    installer,
    computeRequiredRules(objects, { installNamespace: namespace, strategy }),
    getControllerSubject(SYSTEM_NAMESPACE),
  );
  const apply = async (manifests: readonly KubeObject[]): Promise<void> => {
    for (const object of manifests) await admin.apply(object, { fieldManager: "test", force: true });
  };
  await apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
  await apply(all.map((object) => withoutVerb(without(object, options.without), options.withoutVerb)));
  return { complete: () => apply(all) };
}

function without(object: KubeObject, resource: string | undefined): KubeObject {
  const rules = object["rules"] as PolicyRule[] | undefined;
  if (!rules || resource === undefined) return object;
  return { ...object, rules: rules.filter((rule) => !rule.resources?.includes(resource)) };
}

function withoutVerb(object: KubeObject, verb: string | undefined): KubeObject {
  const rules = object["rules"] as PolicyRule[] | undefined;
  if (!rules || verb === undefined) return object;
  return { ...object, rules: rules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((other) => other !== verb) })) };
}
