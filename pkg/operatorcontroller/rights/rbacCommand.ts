import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { createdTrustedCas } from "../../render/trustedCa.ts";

/** Most options of one kind that a configuration adds, and most namespaces that a valid one names. It may be invalid, and large. */
const MAX_NAMED = 100;

/** A word that a shell takes as it is. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * The command that prints the ServiceAccount and the roles with which an extension can have the bundles of these images.
 * @param certProvider name of who provides the certificates of their webhooks; undefined where they have none.
 * @param config of the bundles, where that is not `spec.config.inline`.
 */
export function rbacCommand(
  { spec }: Pick<ClusterExtension, "spec">,
  images: readonly string[],
  certProvider?: string,
  config = spec.config?.inline,
): string {
  const sources = new Set(spec.config?.valuesFrom?.map(({ kind, name }) => `${kind}/${name}`));
  const words = [
    ...new Set(images),
    "--namespace",
    spec.namespace,
    ...(spec.serviceAccount?.name ? ["--service-account", spec.serviceAccount.name] : []),
    ...watchedIn(config)
      .slice(0, MAX_NAMED)
      .flatMap((namespace) => ["--watch-namespace", namespace]),
    ...createdTrustedCas(config)
      .slice(0, MAX_NAMED)
      .flatMap((name) => ["--trusted-ca-config-map", name]),
    ...(sources.size > 0 ? ["--values-from", ...sources] : []),
    ...(spec.uninstall?.crdPolicy && spec.uninstall.crdPolicy !== "DeleteIfUnused" ? ["--crd-policy", spec.uninstall.crdPolicy] : []),
    ...(certProvider === undefined ? [] : ["--webhook-cert-provider", certProvider]),
    ...(spec.install?.userRoles === "Aggregate" ? ["--aggregate-user-roles"] : []),
  ];
  return ["olmv1 rbac", ...words.map(quoted)].join(" ");
}

/** What a configuration says about namespaces, as far as it is text. */
function watchedIn({ watchNamespace, watchNamespaces }: { watchNamespace?: unknown; watchNamespaces?: unknown } = {}): string[] {
  const listed: readonly unknown[] = Array.isArray(watchNamespaces) ? watchNamespaces : [];
  return [watchNamespace, ...listed].filter((namespace) => typeof namespace === "string");
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
