import type { ClusterExtension } from "../../api/clusterExtension.ts";

/** A word that a shell takes as it is. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * The command that prints the ServiceAccount and the roles with which an extension can have the bundles of these images.
 * @param certProvider name of who provides the certificates of their webhooks; undefined where they have none.
 */
export function rbacCommand({ spec }: Pick<ClusterExtension, "spec">, images: readonly string[], certProvider?: string): string {
  const watched = spec.config?.inline?.["watchNamespace"];
  const words = [
    ...new Set(images),
    "--namespace",
    spec.namespace,
    ...(spec.serviceAccount?.name ? ["--service-account", spec.serviceAccount.name] : []),
    ...(typeof watched === "string" ? ["--watch-namespace", watched] : []),
    ...(spec.uninstall?.crdPolicy && spec.uninstall.crdPolicy !== "DeleteIfUnused" ? ["--crd-policy", spec.uninstall.crdPolicy] : []),
    ...(certProvider === undefined ? [] : ["--webhook-cert-provider", certProvider]),
    ...(spec.install?.userRoles === "Aggregate" ? ["--aggregate-user-roles"] : []),
  ];
  return ["olmv1 rbac", ...words.map(quoted)].join(" ");
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
