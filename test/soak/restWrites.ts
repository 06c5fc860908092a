import type { GroupVersionKind } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { Request } from "../support/auditTail.ts";

/** The kinds of the objects in bundles, by resource. */
const KINDS: Readonly<Record<string, GroupVersionKind>> = {
  clusterrolebindings: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
  clusterroles: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  configmaps: { apiVersion: "v1", kind: "ConfigMap" },
  customresourcedefinitions: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
  deployments: { apiVersion: "apps/v1", kind: "Deployment" },
  serviceaccounts: { apiVersion: "v1", kind: "ServiceAccount" },
};

/** The resourceVersion of each object, by `formatKey`. */
type Versions = ReadonlyMap<string, string | undefined>;

/** Returns the resourceVersions of all objects of the kinds in bundles. */
export async function readVersions(client: Client): Promise<Versions> {
  const lists = Object.entries(KINDS).map(async ([resource, kind]) => {
    const { items } = await client.list(kind, { metadataOnly: true });
    return items.map(
      ({ metadata: { namespace, name, resourceVersion } }) => [formatKey({ resource, namespace, name }), resourceVersion] as const,
    );
  });
  return new Map((await Promise.all(lists)).flat());
}

/**
 * Returns the writes that may have changed an object, as "account verb resource name". Once an hour,
 * the controller applies the objects of an extension again to compare them. That changes neither an
 * object nor its resourceVersion, unless it differs.
 */
export function listChangingWrites(writes: readonly Request[], before: Versions, after: Versions): string[] {
  const isUnchanged = ({ verb, ref }: Request): boolean => {
    const version = after.get(formatKey(ref));
    return verb === "patch" && version !== undefined && version === before.get(formatKey(ref));
  };
  return writes.filter((write) => !isUnchanged(write)).map(({ account, verb, ref }) => `${account} ${verb} ${ref.resource} ${ref.name}`);
}

function formatKey({ resource, namespace = "", name }: { resource: string; namespace?: string | undefined; name: string }): string {
  return `${resource} ${namespace}/${name}`;
}
