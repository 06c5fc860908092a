import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import { keptProperties } from "../../release/bundleProperties.ts";
import { statedRelease } from "../../resolve/candidates.ts";
import { dependenciesOf } from "../../resolve/dependencies.ts";
import { conditionText } from "../../resolve/explanation/conditionText.ts";
import type { Resolved } from "../../resolve/resolution.ts";
import { choose, consider } from "../../resolve/resolve.ts";
import { matchesSelector } from "../../resolve/selector.ts";
import { parseConstraint } from "../../version/masterminds.ts";
import { formatVersion, formatVersionRelease, parseVersionRelease } from "../../version/version.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { DependencyChoice, LeftOut } from "../dependencies/dependencyChoice.ts";
import type { InstalledBundle, PassFacts, ResolvedBundle } from "../facts.ts";
import { WaitingError } from "../waiting.ts";

/** What resolving needs from the outside. */
export interface ResolveDependencies {
  catalogs: CatalogLister;
  contents: CatalogContents;
  dependencies: Pick<DependencyChoice, "choose">;
}

/** Lists the ClusterCatalogs of the cluster, from a cache. */
export interface CatalogLister {
  list(): readonly ClusterCatalog[];
}

/**
 * Chooses the bundle to work towards.
 * When resolution fails the first matching row decides:
 *
 * | nothing installed, or the selector is invalid            | the error |
 * | `version` does not contain the installed version         | the error |
 * | some ClusterCatalog matches the selector                 | the error |
 * | no catalog is left                                       | keep the installed bundle |
 *
 * With an error what is installed stays, and is maintained by the end of the pass; the error says that it stays.
 * @see operator-controller internal/operator-controller/controllers/clusterextension_reconcile_steps.go handleResolutionError
 */
export function resolveBundle({ catalogs, contents, dependencies }: ResolveDependencies): Step<PassFacts["extension"], PassFacts> {
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
      const considered = consider({ source, catalogs: facts.catalogs, installed: facts.installed, cluster: facts.clusterVersion });
      const ignores = facts.extension.spec.dependencies?.policy === "Ignore";
      const { resolution, pending, unfit } =
        "kind" in considered || ignores
          ? { resolution: "kind" in considered ? considered : choose(considered) }
          : await dependencies.choose(facts.extension, considered, matching, signal);
      if (resolution.considered) facts.considered = resolution.considered;
      if (resolution.kind === "unresolved") {
        const fallBack = resolution.cause !== "selector" && canFallBack(facts.installed, source, matching);
        if (unfit && resolution.cause === "nothing") throw unsatisfied(facts, unfit);
        if (!fallBack || !facts.installed) {
          const text = `${resolution.reason}${staying(facts.installed)}; ${resolution.explanation}`;
          throw new RetryableError(Reason.Retrying, conditionText(text, facts.extension.metadata.name));
        }
        facts.resolved = { ...facts.installed, explanation: "no catalog is left to resolve from: the installed bundle is kept" };
        facts.notes.push("no ClusterCatalog matches: the installed bundle is kept as it is");
        return undefined;
      }
      facts.deprecation = { kind: "known", entries: resolution.deprecations };
      if (resolution.newest) facts.newest = resolution.newest;
      if (pending) facts.pending = pending;
      facts.resolved = resolvedFrom(resolution, source);
      facts.notes.push(...resolution.notes);
      if (ignores && dependenciesOf(resolution.bundle).length > 0)
        facts.notes.push(
          `the dependencies of bundle ${goQuote(resolution.bundle.name)} are not checked: spec.dependencies.policy is Ignore`,
        );
      if (unfit) {
        facts.notes.push(
          conditionText(`bundle ${goQuote(unfit.bundle)} is not chosen: ${unfit.clauses.join("; ")}`, facts.extension.metadata.name),
        );
        facts.awaits = unfit.isOver;
      }
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
  return isSatisfied(source.version, installed);
}

/** Whether a version range contains what is installed; its own text does so in any case. */
function isSatisfied(range: string | undefined, { version, release }: InstalledBundle): boolean {
  if (range === undefined || range === "" || range === version) return true;
  try {
    return parseConstraint(range).contains(parseVersionRelease(version, release).version);
  } catch {
    return false;
  }
}

function staying(installed: InstalledBundle | undefined): string {
  return installed ? `; bundle ${goQuote(installed.name)} (version ${installed.version}) stays installed` : "";
}

/** Nothing goes on before something else is installed, served or updated; that is looked for meanwhile. */
function unsatisfied({ extension, installed }: PassFacts, { bundle, clauses, isOver }: LeftOut): TerminalError {
  const text = `bundle ${goQuote(bundle)} cannot be installed: ${clauses.join("; ")}${staying(installed)}`;
  const message = conditionText(text, extension.metadata.name);
  const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver });
  return new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
}

function resolvedFrom(resolution: Resolved, source: CatalogSource): ResolvedBundle {
  const { bundle, catalog, explanation, edge, cautions } = resolution;
  return {
    packageName: source.packageName,
    name: bundle.name,
    ...versionTexts(resolution),
    image: bundle.image,
    properties: keptProperties(bundle.properties),
    catalog,
    explanation,
    ...(cautions.length > 0 ? { cautions } : {}),
    ...(edge ? { edge: edge.via === "stay" ? "stay" : `${edge.via} in channel ${edge.channel}` } : {}),
  };
}

/** As a release records them: a release that the bundle states apart stays apart, one that is build metadata goes with the version. */
function versionTexts({ bundle, version }: Resolved): Pick<InstalledBundle, "version" | "release"> {
  const release = statedRelease(bundle);
  return release === undefined ? { version: formatVersionRelease(version) } : { version: formatVersion(version.version), release };
}
