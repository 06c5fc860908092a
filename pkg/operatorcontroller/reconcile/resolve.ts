import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import { formatDay } from "../../fbc/lifecycleDocument.ts";
import { goQuote } from "../../golang/quote.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { formatKeptProperties } from "../../release/providedBundle.ts";
import { getStatedRelease, listEntryNames } from "../../resolve/candidates.ts";
import { declaresDependency } from "../../resolve/constraint/parse.ts";
import { getRequestedChannels, isInRange } from "../../resolve/filters.ts";
import type {
  CatalogPackage,
  FilteredCatalogs,
  FilterRequest,
  SuccessfulResolution as Resolution,
  Unresolved,
} from "../../resolve/resolution.ts";
import { chooseBest, filterCandidates } from "../../resolve/resolve.ts";
import { explainUnavailable, getUnresolvedDetails, type UnresolvedDetails } from "../../resolve/unresolved.ts";
import { truncateForCondition } from "../../resolve/wording.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { formatVersion, formatVersionRelease } from "../../version/version.ts";
import { selectClusterCatalogs } from "../catalogs/catalogPackages.ts";
import type { DependencyResolution, RejectedBundle } from "../dependencies/dependencyChoice.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import { findInstalledCatalog } from "../state/extensionSpec.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import {
  type Authenticated,
  hasBundle,
  hasClient,
  type Phase,
  type ReconcileStep,
  type Resolved,
  type ResolvedBundle,
} from "../state/phases.ts";
import type { Services } from "./services.ts";

/** Services that resolution uses. */
export interface ResolveServices extends Pick<Services, "catalogs" | "contents" | "now"> {
  choice: Pick<Services["choice"], "choose">;
}

/** Thrown if the catalogs contain no bundle to install, or are unavailable. */
export class UnresolvedError extends RetryableError {
  /** Machine-readable reason. */
  readonly details: UnresolvedDetails;

  constructor(failed: Unresolved, message: string) {
    const details = getUnresolvedDetails(failed);
    super(Reason.Retrying, failed.goMessage, { problems: [toUnresolvedProblem(details, message)] });
    this.details = details;
  }
}

/** Thrown if the best bundle has unsatisfied dependencies or would break those of other extensions. */
class UnsatisfiedDependenciesError extends TerminalError {
  /** Machine-readable reason. */
  readonly details: UnresolvedDetails;

  constructor(failed: Unresolved, cause: WaitingError) {
    super(Reason.UnsatisfiedDependencies, cause.message, { cause, problems: cause.problems });
    this.details = getUnresolvedDetails(failed);
  }
}

/** Returns the problem of a failed resolution. */
function toUnresolvedProblem({ reason, unavailable, ambiguous = [], excluded }: UnresolvedDetails, message: string): Problem {
  if (reason === "CatalogUnavailable")
    return newProblem("CatalogUnavailable", { severity: "Error", message, details: unavailable.map(toCatalog) });
  if (reason === "AmbiguousCatalogs") {
    const details = ambiguous.map(({ catalog, bundle }) => ({ name: catalog, message: bundle }));
    return newProblem("AmbiguousCatalogs", { message, details });
  }
  if (reason === "NoMatchingBundle")
    return newProblem("BundleNotFound", { message, details: excluded.map(({ catalog, bundle, rule }) => ({ catalog, bundle, rule })) });
  return newProblem(reason === "InvalidBundleVersion" ? "BundleInvalid" : "InvalidSpec", { message });
}

function toCatalog({ catalog, error }: UnresolvedDetails["unavailable"][number]): { name: string; message: string } {
  return { name: catalog, message: error };
}

/**
 * Resolves the bundle in three stages: selects catalogs and filters their candidates, chooses the best candidate, and decides what a failure means.
 * After a failure, the first matching row decides:
 *
 * | nothing is installed, or the selector is invalid        | fails                      |
 * | `version` does not contain the installed version        | fails                      |
 * | an unavailable catalog could change the result          | keeps the installed bundle, unless `channels` are known to exclude it |
 * | a ClusterCatalog matches the selector                   | fails                      |
 * | no ClusterCatalog matches the selector                  | keeps the installed bundle |
 *
 * After a failure, the controller still maintains the installed bundle, as the error message explains. A pinned release keeps its bundle. In this
 * case, catalogs are only read for deprecations and updates, and failures are only logged.
 * @see operator-controller df2c201d internal/operator-controller/controllers/clusterextension_reconcile_steps.go handleResolutionError
 */
export function resolveBundle(services: ResolveServices): ReconcileStep<Authenticated, Resolved> {
  return {
    name: "ResolveBundle",
    async run(phase, { signal, log }) {
      const { pinned, releases, report } = phase;
      if (pinned) {
        try {
          await findBundle(services, phase, signal);
        } catch (err) {
          signal.throwIfAborted();
          log.debug({ reason: getErrorMessage(err) }, "no bundle resolved while a release is pinned");
        }
        return { ...phase, phase: "resolved", bundle: pinned.bundle };
      }
      const { bundle, plan, problems, isKept } = await findBundle(services, phase, signal);
      report.problems.push(...problems);
      const { name, version, catalog, edge, explanation } = bundle;
      const isChanged = !isKept && name !== releases.installed?.name;
      log[isChanged ? "info" : "debug"]({ bundle: name, version, catalog, edge, explanation }, "bundle resolved");
      return { ...phase, phase: "resolved", bundle, ...(plan ? { plan } : {}) };
    },
  };
}

/** The resolved bundle. */
interface FoundBundle {
  readonly bundle: ResolvedBundle;
  readonly plan?: KnownPlan;
  /** Problems with the choice of the bundle. */
  readonly problems: readonly Problem[];
  /** Whether the installed bundle is kept because no other bundle can be resolved. */
  readonly isKept?: boolean;
}

/** Resolves the bundle of the extension, and reports what the catalogs contain about it. */
async function findBundle(services: ResolveServices, phase: Authenticated, signal: AbortSignal): Promise<FoundBundle> {
  const { extension, releases, report } = phase;
  const { installed } = releases;
  const { catalog: source } = extension.spec.source;
  if (!source) {
    const message = "spec.source.catalog is missing: set spec.source.catalog.packageName to the package to install";
    throw new TerminalError(Reason.Blocked, message, { problems: [newProblem("InvalidSpec", { message })] });
  }
  const request = {
    source,
    installed,
    installedFrom: findInstalledCatalog(phase),
    cluster: phase.clusterVersion,
    today: formatDay(services.now()),
  };
  const { selected, packages, filtered } = await readCandidates(services, request, signal);
  report.catalogs.packages = packages;
  const { resolution, plan, rejected } = await chooseInstallable(services.choice, extension, filtered, selected, signal);
  // While no catalog can be read, the known plan stays.
  if (filtered.kind !== "unresolved")
    report.dependencyPlan = plan?.root === extension.metadata.name ? { kind: "plan", plan: plan.status } : { kind: "none" };
  if (resolution.filtered) report.catalogs.filtered = resolution.filtered;
  if (resolution.kind === "unresolved") {
    if (rejected && resolution.reason === "NoMatchingBundle") throw listUnsatisfiedDependencies(resolution, rejected, phase);
    const kept = keepInstalled(resolution, installed, selected);
    if (!kept) throw createUnresolvedError(resolution, phase);
    if (resolution.reason === "CatalogUnavailable") report.awaits = checkAvailableAgain(services, source, packages);
    return kept;
  }
  report.catalogs.deprecation = { kind: "known", entries: resolution.deprecations };
  if (resolution.newest) report.catalogs.newest = resolution.newest;
  if (rejected) report.awaits = rejected.isOver;
  const problems = listResolutionProblems(resolution, rejected, extension);
  return { bundle: resolvedFrom(resolution, source), ...(plan ? { plan } : {}), problems };
}

/** The selected catalogs and their remaining candidates. */
export interface ReadCandidates {
  /** Empty if the selector is invalid. */
  readonly selected: readonly ClusterCatalog[];
  /** Content of the package in the catalogs that are not disabled. */
  readonly packages: readonly CatalogPackage[];
  readonly filtered: FilteredCatalogs | Unresolved;
}

/**
 * Selects catalogs for `request.source`, reads its package and filters the candidates. @throws the signal's reason if
 * it aborts.
 */
export async function readCandidates(
  { catalogs, contents }: Pick<Services, "catalogs" | "contents">,
  request: Omit<FilterRequest, "catalogs">,
  signal: AbortSignal,
): Promise<ReadCandidates> {
  const selection = selectClusterCatalogs(catalogs, request.source);
  if (selection.kind === "unresolved") return { selected: [], packages: [], filtered: selection };
  const packages = await contents.read(selection.catalogs, request.source.packageName, signal);
  return { selected: selection.catalogs, packages, filtered: filterCandidates({ ...request, catalogs: packages }) };
}

/**
 * Chooses the best candidate whose dependencies are satisfied; the best candidate of all if the extension ignores dependencies.
 * @param selected the catalogs that the extension selects. @throws as `DependencyChoice.choose`.
 */
export async function chooseInstallable(
  choice: ResolveServices["choice"],
  extension: Readonly<ClusterExtension>,
  filtered: FilteredCatalogs | Unresolved,
  selected: readonly ClusterCatalog[],
  signal: AbortSignal,
): Promise<DependencyResolution> {
  if (filtered.kind === "unresolved") return { resolution: filtered };
  if (ignoresDependencies(extension)) return { resolution: chooseBest(filtered) };
  return choice.choose(extension, filtered, selected, signal);
}

function ignoresDependencies({ spec }: Readonly<ClusterExtension>): boolean {
  return spec.dependencies?.policy === "Ignore";
}

function listResolutionProblems(
  { bundle, problems }: Resolution,
  rejected: RejectedBundle | undefined,
  extension: Readonly<ClusterExtension>,
): Problem[] {
  const isUnchecked = ignoresDependencies(extension) && declaresDependency(bundle.properties);
  const unchecked = `the dependencies of bundle ${goQuote(bundle.name)} are not checked: spec.dependencies.policy is Ignore`;
  const note = (message: string): Problem => newProblem("UpgradeWarning", { message });
  return [
    ...problems,
    ...(isUnchecked ? [newProblem("UnsatisfiedDependencies", { severity: "Info", message: unchecked })] : []),
    ...(rejected
      ? [
          note(
            truncateForCondition(
              `bundle ${goQuote(rejected.bundle)} is not chosen: ${rejected.clauses.join("; ")}`,
              extension.metadata.name,
            ),
          ),
        ]
      : []),
  ];
}

/** Returns the installed bundle if the table of `resolveBundle` keeps it; undefined if resolution fails. */
function keepInstalled(
  failed: Unresolved,
  installed: InstalledBundle | undefined,
  selected: readonly ClusterCatalog[],
): FoundBundle | undefined {
  if (!installed || failed.reason === "InvalidSelector" || !allowsInstalledVersion(failed, installed)) return undefined;
  if (failed.reason === "CatalogUnavailable" && !isOutsideChannels(failed.filtered, installed)) {
    const { blocking } = failed;
    const reason = truncate(explainUnavailable(blocking), CAUSE_LENGTH);
    const note = `catalog ${goQuote(blocking.name)} is unavailable and may have a better bundle (${reason}): the controller keeps bundle ${goQuote(installed.name)} until the catalog is available, is deleted, or has a lower spec.priority`;
    const details = [{ name: blocking.name, message: reason }];
    const problems = [newProblem("CatalogUnavailable", { message: note, details })];
    return { bundle: { ...installed, explanation: note }, problems, isKept: true };
  }
  if (selected.length > 0) return undefined;
  const explanation = "no ClusterCatalog matches: the controller keeps the installed bundle";
  return {
    bundle: { ...installed, explanation },
    problems: [newProblem("CatalogUnavailable", { message: "no ClusterCatalog matches: the controller keeps the installed bundle" })],
    isKept: true,
  };
}

/**
 * Reports whether `version` allows the installed bundle, according to the filter. As in Go, the exact text of the installed version is always
 * allowed.
 */
function allowsInstalledVersion({ source, filtered }: Unresolved, installed: InstalledBundle): boolean {
  if (source.version === installed.version) return true;
  return filtered !== undefined && isInRange({ version: filtered.query.installed?.parsed }, filtered.query);
}

/** Reports whether catalogs contain the installed bundle, but not in a channel of `spec.source.catalog.channels`. */
function isOutsideChannels({ catalogs, query }: FilteredCatalogs, { name }: InstalledBundle): boolean {
  if (query.channels.length === 0) return false;
  const having = catalogs
    .flatMap(({ content, lastKnown }) => content ?? lastKnown?.content ?? [])
    .filter(({ bundles }) => bundles.some((bundle) => bundle.name === name));
  return having.length > 0 && !having.some((content) => listEntryNames(getRequestedChannels(content, query)).has(name));
}

/** Returns a check that is true when an unavailable catalog is available again or no longer selected. */
function checkAvailableAgain(
  { catalogs, contents }: Pick<Services, "catalogs" | "contents">,
  source: CatalogSource,
  before: readonly CatalogPackage[],
): UnblockCheck {
  const unavailable = before.flatMap((one) => (one.unavailable === undefined ? [] : [one.name]));
  return async (signal) => {
    const selection = selectClusterCatalogs(catalogs, source);
    const selected = selection.kind === "catalogs" ? selection.catalogs : [];
    const remaining = selected.filter(({ metadata }) => unavailable.includes(metadata.name));
    const packages = await contents.read(remaining, source.packageName, signal);
    return packages.length < unavailable.length || packages.some((one) => one.unavailable === undefined);
  };
}

function formatKept(installed: InstalledBundle | undefined): string {
  return installed ? `; bundle ${goQuote(installed.name)} (version ${installed.version}) stays installed` : "";
}

function createUnresolvedError(failed: Unresolved, { extension, releases }: Authenticated): UnresolvedError {
  const text = `${failed.goMessage}${formatKept(releases.installed)}; ${failed.explanation}`;
  return new UnresolvedError(failed, truncateForCondition(text, extension.metadata.name));
}

/** Returns the error for unsatisfied dependencies. The controller retries when the conflict has changed. */
function listUnsatisfiedDependencies(
  failed: Unresolved,
  { bundle, clauses, isOver }: RejectedBundle,
  { extension, releases }: Authenticated,
): UnsatisfiedDependenciesError {
  const text = `bundle ${goQuote(bundle)} cannot be installed: ${clauses.join("; ")}${formatKept(releases.installed)}`;
  const message = truncateForCondition(text, extension.metadata.name);
  const problems = [newProblem("UnsatisfiedDependencies", { message, details: clauses.map((clause) => ({ bundle, message: clause })) })];
  return new UnsatisfiedDependenciesError(failed, new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver, problems }));
}

function resolvedFrom(resolution: Resolution, source: CatalogSource): ResolvedBundle {
  const { bundle, catalog, explanation, edge, warnings, support } = resolution;
  return {
    packageName: source.packageName,
    name: bundle.name,
    ...formatVersions(resolution),
    image: bundle.image,
    properties: formatKeptProperties(bundle.properties),
    catalog,
    explanation,
    ...(warnings.length > 0 ? { cautions: warnings } : {}),
    ...(support ? { support } : {}),
    ...(edge ? { edge: edge.via === "stay" ? "stay" : `${edge.via} in channel ${edge.channel}` } : {}),
  };
}

/**
 * Returns version and release in the form in which a release record contains them. A separate release of the bundle stays separate. A release in the
 * build metadata stays part of the version.
 */
function formatVersions({ bundle, version }: Resolution): Pick<InstalledBundle, "version" | "release"> {
  const release = getStatedRelease(bundle);
  return release === undefined ? { version: formatVersionRelease(version) } : { version: formatVersion(version.version), release };
}

/**
 * Records whether a selected catalog was unavailable although the reconcile succeeded. Such an extension is reconciled again soon, because no event
 * reports that a catalog server has recovered.
 */
export function trackUnavailableCatalogs({ memory }: Pick<Services, "memory">): ReconcileStep<Resolved> {
  return {
    name: "TrackUnavailableCatalogs",
    run(phase) {
      const { packages = [] } = phase.report.catalogs;
      memory.of(phase.extension).hasUnavailableCatalogs = packages.some(({ unavailable }) => unavailable !== undefined);
      return Promise.resolve(phase);
    },
  };
}

/**
 * Returns a function that records an Event when resolution chooses a different bundle than before or, after a start, than the installed bundle.
 * Failures are reported in condition Progressing and its Event.
 */
export function createChoiceRecorder({ events, memory }: Pick<Services, "events" | "memory">): (phase: Phase) => void {
  return (phase) => {
    const { extension, report } = phase;
    const { filtered } = report.catalogs;
    if (!filtered || (hasClient(phase) && phase.pinned)) return;
    const bundle = hasBundle(phase) ? phase.bundle : undefined;
    const entry = memory.of(extension);
    const { installed } = filtered;
    if (bundle?.catalog === undefined) {
      entry.resolvedBundle = "";
      return;
    }
    const choice = JSON.stringify([bundle.catalog, bundle.name, bundle.version]);
    const isSameAsInstalled = installed?.name === bundle.name && installed.version === bundle.version;
    const isKnown = entry.resolvedBundle === undefined ? isSameAsInstalled : entry.resolvedBundle === choice;
    entry.resolvedBundle = choice;
    if (!isKnown) events.record(extension, "Normal", "Resolved", bundle.explanation);
  };
}
