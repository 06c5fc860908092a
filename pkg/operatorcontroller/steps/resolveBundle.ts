import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { keptProperties } from "../../release/providedBundle.ts";
import { statedRelease } from "../../resolve/candidates.ts";
import { dependenciesOf } from "../../resolve/constraint/parse.ts";
import { silenceReason } from "../../resolve/explain.ts";
import { compileSelector } from "../../resolve/labelSelector.ts";
import { type CatalogContent, type Considered, type Resolved, type Unresolved, blockingCatalog } from "../../resolve/resolution.ts";
import { choose, consider } from "../../resolve/resolve.ts";
import { conditionText } from "../../resolve/wording.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { parseConstraint } from "../../version/masterminds.ts";
import { formatVersion, formatVersionRelease, parseVersionRelease } from "../../version/version.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { DependencyChoice, LeftOut } from "../dependencies/dependencyChoice.ts";
import { type InstalledBundle, type PassFacts, type ResolvedBundle, installedFrom } from "../facts.ts";
import { type IsOver, WaitingError } from "../waiting.ts";

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

/** The catalogs hold no bundle to install, or cannot be asked for one. */
export class UnresolvedError extends RetryableError {
  readonly unresolved: Unresolved["cause"];

  constructor(unresolved: Unresolved["cause"], message: string) {
    super(Reason.Retrying, message);
    this.unresolved = unresolved;
  }
}

/**
 * Chooses the bundle to work towards.
 * When resolution fails the first matching row decides:
 *
 * | nothing installed, or the selector is invalid            | the error |
 * | `version` does not contain the installed version         | the error |
 * | a catalog that cannot be asked could change the answer   | keep the installed bundle, unless `channels` are known to exclude it |
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
      const considered = consider({
        source,
        catalogs: facts.catalogs,
        installed: facts.installed,
        installedFrom: installedFrom(facts),
        cluster: facts.clusterVersion,
      });
      const ignores = facts.extension.spec.dependencies?.policy === "Ignore";
      const { resolution, pending, unfit } =
        "kind" in considered || ignores
          ? { resolution: "kind" in considered ? considered : choose(considered) }
          : await dependencies.choose(facts.extension, considered, matching, signal);
      if (resolution.considered) facts.considered = resolution.considered;
      if (resolution.kind === "unresolved") {
        if (unfit && resolution.cause === "nothing") throw unsatisfied(facts, unfit);
        const kept = keptInstead(resolution, facts.installed, source, matching);
        if (!kept) {
          const text = `${resolution.reason}${staying(facts.installed)}; ${resolution.explanation}`;
          throw new UnresolvedError(resolution.cause, conditionText(text, facts.extension.metadata.name));
        }
        facts.resolved = { ...kept.installed, explanation: kept.explanation };
        facts.notes.push(conditionText(kept.note, facts.extension.metadata.name));
        if (resolution.cause === "catalog") facts.awaits = answersAgain({ catalogs, contents }, source, facts.catalogs);
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

/** Returns the catalogs that `source` selects, by name. A catalog that is being deleted never answers again, so it is not one of them. */
export function matchingCatalogs(catalogs: CatalogLister, source: CatalogSource): ClusterCatalog[] {
  const { matches } = compileSelector(source.selector);
  const matching = catalogs.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined && matches(metadata.labels ?? {}));
  return matching.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** The installed bundle, kept because nothing can be resolved. */
interface Kept {
  readonly installed: InstalledBundle;
  readonly explanation: string;
  readonly note: string;
}

/** Returns what to keep where resolution failed, by the table of `resolveBundle`; undefined where the failure is an error. */
function keptInstead(
  { cause, considered }: Unresolved,
  installed: InstalledBundle | undefined,
  source: CatalogSource,
  matching: readonly ClusterCatalog[],
): Kept | undefined {
  if (!installed || cause === "selector" || !isSatisfied(source.version, installed)) return undefined;
  const blocking = considered && blockingCatalog(considered);
  if (cause === "catalog" && considered && blocking && !isOutsideChannels(considered, installed)) {
    const because = truncate(silenceReason(blocking), CAUSE_LENGTH);
    const note = `catalog ${goQuote(blocking.name)} cannot be asked and may have a better bundle (${because}): bundle ${goQuote(installed.name)} stays installed until the catalog answers, is deleted, or has a lower spec.priority`;
    return { installed, explanation: note, note };
  }
  if (matching.length > 0) return undefined;
  return {
    installed,
    explanation: "no catalog is left to resolve from: the installed bundle is kept",
    note: "no ClusterCatalog matches: the installed bundle is kept as it is",
  };
}

/** Reports whether catalogs are known to have the installed bundle, and none of them in a channel that `spec.source.catalog.channels` names. */
function isOutsideChannels({ selected, query: { channels } }: Considered, { name }: InstalledBundle): boolean {
  if (channels.length === 0) return false;
  const having = selected
    .flatMap(({ content, lastKnown }) => content ?? lastKnown?.content ?? [])
    .filter(({ bundles }) => bundles.some((bundle) => bundle.name === name));
  const isInside = (content: PackageContent): boolean =>
    content.channels.some((channel) => channels.includes(channel.name) && channel.entries.some((entry) => entry.name === name));
  return having.length > 0 && !having.some(isInside);
}

/** Asks whether one of the catalogs that could not answer has gone or answers by now. */
function answersAgain(
  { catalogs, contents }: Pick<ResolveDependencies, "catalogs" | "contents">,
  source: CatalogSource,
  before: readonly CatalogContent[],
): IsOver {
  const silent = before.flatMap(({ name, unavailable }) => (unavailable === undefined ? [] : [name]));
  return async (signal) => {
    const still = matchingCatalogs(catalogs, source).filter(({ metadata }) => silent.includes(metadata.name));
    const asked = await contents.of(still, source.packageName, signal);
    return asked.length < silent.length || asked.some(({ unavailable }) => unavailable === undefined);
  };
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
