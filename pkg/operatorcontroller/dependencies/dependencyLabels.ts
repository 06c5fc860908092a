import { createHash } from "node:crypto";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import {
  API_VERSION,
  CLUSTER_EXTENSION,
  EXTENSION_NAME_MAX,
  LABEL_DEPENDENCY,
  LABEL_DEPENDENT_PREFIX,
  LABEL_METADATA_NAME,
} from "../../api/constants.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { type CatalogLister, selectClusterCatalogs } from "../catalogs/catalogPackages.ts";
import type { PlanMember } from "../state/knownPlan.ts";

const HASH_LENGTH = 8;

/**
 * Returns candidate names for the extension of a package, of which the first free name is used: the package name, then
 * a shortened name with a hash.
 */
export function listDependencyNames(packageName: string): string[] {
  const hash = createHash("sha256").update(packageName).digest("hex").slice(0, HASH_LENGTH);
  const short = packageName.slice(0, EXTENSION_NAME_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, "");
  return [...(packageName.length <= EXTENSION_NAME_MAX ? [packageName] : []), `${short}-${hash}`];
}

/** Returns the extension that installs a package: the first by name; undefined if there is none. */
export function findByPackage(extensions: readonly ClusterExtension[], packageName: string): ClusterExtension | undefined {
  const found = extensions.filter(({ spec }) => spec?.source?.catalog?.packageName === packageName);
  return found.sort((a, b) => compareText(a.metadata.name, b.metadata.name))[0];
}

/** Chooses the name of a new extension for a package. @throws RetryableError if extensions of other packages use all possible names */
export function chooseExtensionName(extensions: readonly ClusterExtension[], packageName: string): string {
  const names = listDependencyNames(packageName);
  const free = names.find((name) => !extensions.some(({ metadata }) => metadata.name === name));
  if (free !== undefined) return free;
  throw new RetryableError(
    "Retrying",
    `cannot create a ClusterExtension for package ${goQuote(packageName)}: extensions of other packages use the names ${names.map(goQuote).join(" and ")}. Create a ClusterExtension for package ${goQuote(packageName)} with another name`,
  );
}

/**
 * Returns the extension to create for a dependency of `parent`. It has the namespace and ServiceAccount in the spec of `parent`, unless the template
 * of `parent` overrides them. Without both, permission-manager chooses the namespace for its own bundle.
 */
export function buildDependencyExtension(
  parent: ClusterExtension,
  { extension: name, packageName, catalog }: Pick<PlanMember, "extension" | "packageName" | "catalog">,
): ClusterExtension {
  const { serviceAccount, dependencies, approval, install, progressDeadlineMinutes } = parent.spec;
  const { template, unneeded } = dependencies ?? {};
  const namespace = template?.namespace ?? parent.spec.namespace;
  const account = template?.serviceAccount ?? serviceAccount;
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, labels: { [LABEL_DEPENDENCY]: "true", [dependentLabel(parent)]: parent.metadata.uid ?? "" } },
    spec: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(account ? { serviceAccount: account } : {}),
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName,
          selector: buildCatalogSelector(catalog),
        },
      },
      dependencies: { policy: "Install", ...(template ? { template } : {}), ...(unneeded ? { unneeded } : {}) },
      ...(approval ? { approval } : {}),
      ...(install?.onFailure ? { install: { onFailure: install.onFailure } } : {}),
      ...(progressDeadlineMinutes === undefined ? {} : { progressDeadlineMinutes }),
    },
  };
}

/** Returns a selector for one catalog. */
export function buildCatalogSelector(catalog: string): { matchLabels: Record<string, string> } {
  return { matchLabels: { [LABEL_METADATA_NAME]: catalog } };
}

/** Returns the label that an extension sets on its dependencies to keep them while it exists. */
export function dependentLabel({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${LABEL_DEPENDENT_PREFIX}${metadata.name}`;
}

/** Returns names and uids of the extensions that need `dependency` according to its labels. */
export function parseDependents({ metadata }: Pick<ClusterExtension, "metadata">): { name: string; uid: string }[] {
  const labels = Object.entries(metadata.labels ?? {});
  return labels.flatMap(([label, uid]) =>
    label.startsWith(LABEL_DEPENDENT_PREFIX) ? [{ name: label.slice(LABEL_DEPENDENT_PREFIX.length), uid }] : [],
  );
}

/**
 * Reports whether policy Install created the extension and the label still exists. Users remove the label to keep the
 * extension.
 */
export function isDependencyExtension({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.labels?.[LABEL_DEPENDENCY] === "true";
}

/** Reports whether the controller may recreate an extension for another catalog: policy Install created it, and its spec was never changed. */
export function isUneditedDependency(extension: Pick<ClusterExtension, "metadata">): boolean {
  return isDependencyExtension(extension) && extension.metadata.generation === 1;
}

/**
 * Returns the catalogs to search for dependencies of an extension: those that it selects. An extension that was created as a dependency selects only the
 * catalog of its bundle, so those that its dependents select are searched, too.
 * @param selected the catalogs that the extension selects
 */
export function listSearchedCatalogs(
  extension: ClusterExtension,
  selected: readonly ClusterCatalog[],
  { extensions, catalogs }: { extensions: { get(name: string): ClusterExtension | undefined }; catalogs: CatalogLister },
): readonly ClusterCatalog[] {
  const found = new Map(selected.map((catalog) => [catalog.metadata.name, catalog]));
  // Dependents of dependents are appended while iterating.
  const searching = new Set([extension]);
  for (const one of searching) {
    const source = one.spec?.source?.catalog;
    const selection = one === extension || !source ? undefined : selectClusterCatalogs(catalogs, source);
    for (const catalog of selection?.kind === "catalogs" ? selection.catalogs : [])
      if (!found.has(catalog.metadata.name)) found.set(catalog.metadata.name, catalog);
    if (!isDependencyExtension(one)) continue;
    for (const { name, uid } of parseDependents(one)) {
      const dependent = extensions.get(name);
      if (dependent?.metadata.uid === uid) searching.add(dependent);
    }
  }
  return [...found.values()];
}
