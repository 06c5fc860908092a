import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import { dependencyRefusal } from "../../resolve/dependencies.ts";
import { type Resolved, resolve } from "../../resolve/resolve.ts";
import { matchesSelector } from "../../resolve/selector.ts";
import { formatVersionRelease } from "../../version/version.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { InstalledBundle, PassFacts, ResolvedBundle } from "../facts.ts";

/** Lists the ClusterCatalogs of the cluster, from a cache. */
export interface CatalogLister {
  list(): readonly ClusterCatalog[];
}

/**
 * Chooses the bundle to work towards.
 * When resolution fails the first matching row decides:
 *
 * | nothing installed, or the selector is invalid            | the error |
 * | `version` is set and is not the installed version        | the error |
 * | some ClusterCatalog matches the selector                 | the error |
 * | no catalog is left                                       | keep the installed bundle |
 *
 * @see operator-controller internal/operator-controller/controllers/clusterextension_reconcile_steps.go handleResolutionError
 */
export function resolveBundle(catalogs: CatalogLister, contents: CatalogContents): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "ResolveBundle",
    async run(facts, { signal, log }) {
      const { catalog: source } = facts.extension.spec.source;
      if (!source)
        throw new TerminalError(
          Reason.Blocked,
          "spec.source.catalog is missing: name the package to install in spec.source.catalog.packageName",
        );
      const matching = matchingCatalogs(catalogs, source);
      facts.catalogs = await contents.of(matching, source.packageName, signal);
      const resolution = resolve({ source, catalogs: facts.catalogs, installed: facts.installed, cluster: facts.clusterVersion });
      if (resolution.kind === "unresolved") {
        const fallBack = resolution.cause !== "selector" && canFallBack(facts.installed, source, matching);
        if (!fallBack || !facts.installed) throw new RetryableError(Reason.Retrying, resolution.message);
        facts.resolved = { ...facts.installed, explanation: "no catalog is left to resolve from: the installed bundle is kept" };
        facts.notes.push("no ClusterCatalog matches: the installed bundle is kept as it is");
        return undefined;
      }
      facts.deprecation = { kind: "known", entries: resolution.deprecations };
      if (resolution.newest) facts.newest = resolution.newest;
      refuseDependencies(facts, resolution);
      facts.resolved = resolvedFrom(resolution, source);
      facts.notes.push(...resolution.notes);
      const changed = facts.resolved.name !== facts.installed?.name;
      const { name, version, catalog, edge, explanation } = facts.resolved;
      log[changed ? "info" : "debug"]({ bundle: name, version, catalog, edge, explanation }, "bundle resolved");
      return undefined;
    },
  };
}

/** The catalogs that `source` selects, by name. */
export function matchingCatalogs(catalogs: CatalogLister, source: CatalogSource): ClusterCatalog[] {
  const matching = catalogs.list().filter((catalog) => matchesSelector(source.selector, catalog.metadata.labels ?? {}));
  return matching.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function canFallBack(installed: InstalledBundle | undefined, source: CatalogSource, matching: readonly ClusterCatalog[]): boolean {
  if (!installed || matching.length > 0) return false;
  return source.version === undefined || source.version === "" || source.version === installed.version;
}

function refuseDependencies(facts: PassFacts, resolution: Resolved): void {
  const refusal = dependencyRefusal(resolution.bundle);
  if (refusal === undefined) return;
  if (facts.extension.spec.dependencies?.policy === "Ignore") {
    facts.notes.push(`the dependencies of bundle "${resolution.bundle.name}" are not checked: spec.dependencies.policy is Ignore`);
    return;
  }
  throw new RetryableError(Reason.Retrying, `${refusal}; set spec.dependencies.policy to Ignore to install without checking dependencies`);
}

function resolvedFrom(resolution: Resolved, source: CatalogSource): ResolvedBundle {
  const { bundle, catalog, explanation, edge } = resolution;
  return {
    packageName: source.packageName,
    name: bundle.name,
    version: formatVersionRelease(resolution.version),
    image: bundle.image,
    catalog,
    explanation,
    ...(edge ? { edge: edge.via === "stay" ? "stay" : `${edge.via} in channel ${edge.channel}` } : {}),
  };
}
