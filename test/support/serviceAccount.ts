import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";

/** A ServiceAccount with these rules in the whole cluster, and the client that is it; `grant` replaces the rules. */
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
