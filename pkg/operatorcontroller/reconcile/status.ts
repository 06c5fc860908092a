import { type ClusterExtension, type ClusterExtensionStatus, getNamespace } from "../../api/clusterExtension.ts";
import type { Inventory, KeptCrds, ProvidedApis } from "../../api/clusterExtensionStatus.ts";
import { boundMessage, setCondition, setKstatusCondition } from "../../api/conditions.ts";
import { ConditionType, INVENTORY_MAX, KEPT_CRDS_MAX, PROVIDED_APIS_MAX, Reason } from "../../api/constants.ts";
import { type Condition, getGroup, getVersion, type KubeObject } from "../../api/k8s.ts";
import { boundProblems, filterProblems } from "../../api/problems.ts";
import { type AggregatedApi, listAggregatedApis } from "../../bundle/apiServices.ts";
import { findTerminalError, getErrorMessage, ReconcileError } from "../../errors/errors.ts";
import { formatDay } from "../../fbc/lifecycleDocument.ts";
import { CRD, isCrd } from "../../release/identity.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { findLastDeployed, type LeftObject } from "../../release/record.ts";
import { findAvailableUpdates } from "../../resolve/availableUpdates.ts";
import { findDeprecations } from "../../resolve/candidates.ts";
import { applyFilter } from "../../resolve/filters.ts";
import type { FilteredCatalogs } from "../../resolve/resolution.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { compareText } from "../../text/compare.ts";
import type { KnownReleases } from "../state/clusterChanges.ts";
import { findInstalledCatalog, readReconcileRequest } from "../state/extensionSpec.ts";
import { getReleases, hasBundle, hasClient, type Phase } from "../state/phases.ts";
import type { DeprecationStatus } from "../state/report.ts";
import { type ConditionVerdict, computeUpgradeCondition } from "./clusterUpgradeCondition.ts";
import { isUninstallFinalizer } from "./finalizers.ts";
import { collectProblems, findHold } from "./problems.ts";
import { supportStatus } from "./supportStatus.ts";

/** Returns the inventory of a release: its first hundred objects and their total number. */
export function buildInventory(objects: readonly KubeObject[]): Inventory {
  return {
    count: objects.length,
    objects: objects.slice(0, INVENTORY_MAX).map(({ apiVersion, kind, metadata: { namespace, name } }) => ({
      ...(getGroup(apiVersion) === "" ? {} : { group: getGroup(apiVersion) }),
      version: getVersion(apiVersion),
      kind,
      ...(namespace ? { namespace } : {}),
      name,
    })),
  };
}

/** Returns the objects in the inventory and the kept CustomResourceDefinitions of a status, and whether these are all of them. */
export function listKnownObjects({ inventory, keptCRDs = [] }: ClusterExtensionStatus): { objects: LeftObject[]; isComplete: boolean } {
  const objects = (inventory?.objects ?? []).map(({ group, version, ...ref }) => ({
    apiVersion: group === undefined ? version : `${group}/${version}`,
    ...ref,
  }));
  const kept = keptCRDs.map(({ name, message }) => ({ ...CRD, name, kept: message }));
  return { objects: [...objects, ...kept], isComplete: inventory?.count === objects.length && kept.length < KEPT_CRDS_MAX };
}

/**
 * Returns the APIs that the CustomResourceDefinitions and APIServices of a release serve, sorted by group and kind.
 * Skips definitions without group or kind.
 */
export function collectProvidedApis(objects: readonly KubeObject[]): ProvidedApis {
  const defined = objects.filter(isCrd).flatMap((crd) => {
    const { group, names, versions } = (crd["spec"] ?? {}) as CrdSpec;
    const served = Array.isArray(versions) ? (versions as { name?: unknown; served?: unknown }[]) : [];
    const versionNames = served.flatMap((version) => (version?.served === true && typeof version.name === "string" ? [version.name] : []));
    return typeof group === "string" && typeof names?.kind === "string" ? [{ group, kind: names.kind, versions: versionNames }] : [];
  });
  const key = ({ group, kind }: { group: string; kind: string }): string => `${group}/${kind}`;
  const aggregated = [...Map.groupBy(listAggregatedApis(objects), key).values()].map((apis) => {
    const [{ group, kind }] = apis as [AggregatedApi];
    return { group, kind, versions: [...new Set(apis.map(({ version }) => version))] };
  });
  return [...defined, ...aggregated].sort((a, b) => compareText(key(a), key(b))).slice(0, PROVIDED_APIS_MAX);
}

/** Returns the CustomResourceDefinitions of earlier releases that were kept. */
function listKeptCrds(left: readonly LeftObject[], hide: (text: string) => string): KeptCrds {
  const kept = left.flatMap(({ name, kept: reason }) => (reason === undefined ? [] : [{ name, message: boundMessage(hide(reason)) }]));
  return kept.slice(0, KEPT_CRDS_MAX);
}

interface CrdSpec {
  group?: unknown;
  names?: { kind?: unknown };
  versions?: unknown;
}

type KstatusVerdict = Pick<ConditionVerdict, "reason" | "message"> & { type: "Reconciling" | "Stalled" };

type UpdateStatus = Pick<ClusterExtensionStatus, "availableUpdates" | "blockedUpdate">;

/**
 * Returns the available updates for the bundle that is installed at the end of the reconcile. If the reconcile did not
 * read the catalogs, keeps the known updates of the same bundle.
 */
function updateStatus(phase: Phase, today: string): UpdateStatus {
  const { extension, clusterVersion, report } = phase;
  const { packages: catalogs, filtered } = report.catalogs;
  const { installed } = getReleases(phase);
  const source = extension.spec?.source?.catalog;
  if (!installed || !source) return {};
  if (!catalogs) return readKnownUpdates(extension, installed);
  const isAsResolved = filtered?.installed === installed;
  const considered = isAsResolved
    ? filtered
    : filterCandidates({ source, catalogs, installed, installedFrom: findInstalledCatalog(phase), cluster: clusterVersion, today });
  if (considered?.kind !== "candidates") return {};
  const found = findAvailableUpdates(isAsResolved ? considered : withLaterFilters(considered, filtered));
  if (!found) return {};
  const { updates, blocked } = found;
  return { availableUpdates: updates.map((update) => ({ ...update })), ...(blocked ? { blockedUpdate: { ...blocked } } : {}) };
}

/**
 * Applies the filters of this reconcile, such as dependencies, to the candidates after an upgrade. The results of these
 * filters are assumed to be still valid.
 */
function withLaterFilters(considered: FilteredCatalogs, before: FilteredCatalogs | undefined): FilteredCatalogs {
  const results = considered.results.map((found) => {
    const filters = before?.results.find(({ catalog }) => catalog === found.catalog)?.extraFilters ?? [];
    return filters.reduce((result, filter) => {
      const rules = new Map([...filter.removed].map(([{ bundle }, rule]) => [bundle, rule]));
      const removed = result.allowed.flatMap((one) => {
        const rule = rules.get(one.bundle);
        return rule === undefined ? [] : [[one, rule] as const];
      });
      return removed.length === 0 ? result : applyFilter(result, { ...filter, removed: new Map(removed) });
    }, found);
  });
  return { ...considered, results };
}

function readKnownUpdates({ status }: Readonly<ClusterExtension>, { name, version }: { name: string; version: string }): UpdateStatus {
  const { availableUpdates: updates, blockedUpdate } = status ?? {};
  const bundle = status?.install?.bundle;
  if (!updates || bundle?.name !== name || bundle.version !== version) return {};
  return { availableUpdates: updates, ...(blockedUpdate ? { blockedUpdate } : {}) };
}

/**
 * Reasons of errors that end when something outside of the extension changes. Progressing is False although the error
 * is retryable.
 */
const EXTERNAL_REASONS: ReadonlySet<string> = new Set([
  Reason.RequirementsNotMet,
  Reason.RequiredByOthers,
  Reason.BackupRequired,
  Reason.ConversionNeeded,
  Reason.NotUpgradeable,
]);
/** Reasons why an extension waits for a user or another extension, so that it neither progresses nor fails. */
const WAITING_REASONS: ReadonlySet<string> = new Set([
  ...EXTERNAL_REASONS,
  Reason.AwaitingApproval,
  Reason.Suspended,
  Reason.UnsatisfiedDependencies,
]);
const NO_CATALOG_DATA = "deprecation status unknown: catalog data unavailable";

/**
 * Returns the status of an extension after a reconcile. Pure.
 * @param error error that ended the reconcile early, if any.
 * @param now RFC 3339 time for conditions whose status changes.
 * @see operator-controller df2c201d internal/operator-controller/controllers/common_controller.go
 */
export function computeExtensionStatus(phase: Phase, error: unknown, now: string): ClusterExtensionStatus {
  const { extension, hidden, report } = phase;
  const releases = getReleases(phase);
  const isSuspended = phase.phase === "suspended";
  const deprecations = isSuspended || phase.phase === "deleting" ? [] : deprecationVerdicts(phase);
  const go = [installedVerdict(releases), progressingVerdict(phase, error)] as const;
  const available = availableVerdict(phase);
  const ready = readyVerdict(phase, ...go, available);
  const verdicts = [...go, ...deprecations, ...(isSuspended ? [] : [available]), ready];
  const observedGeneration = extension.metadata.generation ?? 0;
  const { active, installed, unreadable } = releases;
  const today = formatDay(Date.parse(now));
  const upgrade = active && computeUpgradeCondition(phase, active, today);
  if (upgrade) verdicts.push(upgrade.condition);
  const outdated = (type: string): boolean => type === ConditionType.ClusterUpgradeBlocked && active !== undefined && !upgrade;
  let conditions: Condition[] = (extension.status?.conditions ?? []).filter(({ type }) => !outdated(type));
  for (const verdict of verdicts) {
    conditions = setCondition(conditions, { ...verdict, message: boundMessage(hidden.hide(verdict.message)), observedGeneration }, now);
  }
  const kstatus = kstatusVerdict(go[1], ready);
  const complete = kstatus && { ...kstatus, message: boundMessage(hidden.hide(kstatus.message)), observedGeneration };
  conditions = setKstatusCondition(conditions, complete, now);
  const upgradeProblems = active ? (upgrade?.problems ?? []) : filterProblems(extension.status, "ClusterUpgradeBlocked");
  const problems = [...collectProblems(phase, error, available), ...upgradeProblems];
  const reported = boundProblems(problems, (text) => hidden.hide(text));
  const status = {
    observedGeneration,
    conditions,
    ...reported,
    ...(report.plan ? { plan: report.plan } : {}),
    ...dependencyPlanStatus(phase),
    ...handledRequest(phase),
  };
  if (!installed && (unreadable.length > 0 || isUninstalling(phase))) return { ...status, ...installBefore(extension) };
  return installed
    ? {
        ...status,
        install: installStatus(installed, phase),
        ...contentStatus(phase),
        ...supportStatus(phase, today),
        ...updateStatus(phase, today),
      }
    : status;
}

/** Returns the plan in progress. A reconcile that did not find out keeps the known plan. */
function dependencyPlanStatus({ extension, report }: Phase): Pick<ClusterExtensionStatus, "dependencyPlan"> {
  const known = extension.status?.dependencyPlan;
  const found = report.dependencyPlan ?? (known ? { kind: "plan", plan: known } : { kind: "none" });
  return found.kind === "plan" ? { dependencyPlan: found.plan } : {};
}

/** Reports whether an uninstall has not yet deleted all objects. */
function isUninstalling({ phase, extension }: Phase): boolean {
  return phase === "deleting" && (extension.metadata.finalizers ?? []).some(isUninstallFinalizer);
}

/**
 * Returns the last known installed bundle and objects. They are kept in the status while releases cannot be read or
 * found, because nothing else shows that a bundle is installed.
 */
function installBefore(extension: Readonly<ClusterExtension>): Partial<ClusterExtensionStatus> {
  const { install } = extension.status ?? {};
  return { ...(install ? { install } : {}), ...contentBefore(extension) };
}

function contentBefore({ status }: Readonly<ClusterExtension>): ContentStatus {
  const { inventory, providedAPIs, keptCRDs } = status ?? {};
  return {
    ...(inventory ? { inventory } : {}),
    ...(providedAPIs ? { providedAPIs } : {}),
    ...(keptCRDs ? { keptCRDs } : {}),
  };
}

type ContentStatus = Pick<ClusterExtensionStatus, "inventory" | "providedAPIs" | "keptCRDs">;

/** Returns the content of the deployed release. It does not change during an uninstall, which does not keep the content of releases in memory. */
function contentStatus(phase: Phase): ContentStatus {
  const { hidden, extension } = phase;
  if (extension.status?.inventory && isUninstalling(phase)) return contentBefore(extension);
  const release = (hasClient(phase) ? phase.changes.deployed : undefined) ?? findLastDeployed(getReleases(phase).history.current);
  if (!release) return {};
  const apis = collectProvidedApis(release.objects);
  const kept = listKeptCrds(release.left ?? [], (text) => hidden.hide(text));
  return {
    inventory: buildInventory(release.objects),
    ...(apis.length > 0 ? { providedAPIs: apis } : {}),
    ...(kept.length > 0 ? { keptCRDs: kept } : {}),
  };
}

/**
 * Returns the last handled reconcile request. A request counts as handled even if the reconcile fails, because the
 * reconcile is retried anyway, but not before a running pull has ended.
 */
function handledRequest({ phase, extension }: Phase): Pick<ClusterExtensionStatus, "lastHandledReconcileAt"> {
  const handled =
    phase === "suspended" || phase === "unpacking" ? extension.status?.lastHandledReconcileAt : readReconcileRequest(extension);
  return handled === undefined ? {} : { lastHandledReconcileAt: handled };
}

function installStatus(installed: InstalledBundle, phase: Phase): NonNullable<ClusterExtensionStatus["install"]> {
  const catalog = findInstalledCatalog(phase);
  const namespace = getNamespace(phase.extension);
  return {
    bundle: bundleStatus(installed),
    ...(namespace === "" ? {} : { namespace }),
    ...(catalog === undefined ? {} : { catalog }),
  };
}

function bundleStatus(installed: InstalledBundle): { name: string; version: string; release?: string } {
  const { name, version, release } = installed;
  return release === undefined ? { name, version } : { name, version, release };
}

function installedVerdict({ installed, unknownBecause }: KnownReleases): ConditionVerdict {
  const type = ConditionType.Installed;
  if (installed) {
    return { type, status: "True", reason: Reason.Succeeded, message: `Installed bundle ${installed.image} successfully` };
  }
  if (unknownBecause !== undefined) return { type, status: "Unknown", reason: Reason.Failed, message: unknownBecause };
  return { type, status: "False", reason: Reason.Failed, message: "No bundle installed" };
}

/**
 * Returns condition Progressing.
 *
 * | the reconcile ended with               | Progressing                      |
 * | no error                               | True / Succeeded                 |
 * | no error, a bundle on hold             | the reason of the hold           |
 * | no error, an overdue rollout           | False / ProgressDeadlineExceeded |
 * | no error, while uninstalling           | True / Uninstalling              |
 * | no error, while suspended              | False / Suspended                |
 * | no error, while an image is pulled     | True / RollingOut                |
 * | a terminal error                       | False / Blocked, or its reason   |
 * | an error that needs an external change | False / its reason               |
 * | any other error                        | True / Retrying                  |
 */
function progressingVerdict(phase: Phase, error: unknown): ConditionVerdict {
  return { type: ConditionType.Progressing, ...(error === undefined ? computeProgress(phase) : computeFailure(error)) };
}

function computeProgress(phase: Phase): Omit<ConditionVerdict, "type"> {
  if (phase.phase === "deleting") return { status: "True", reason: Reason.Uninstalling, message: phase.progress };
  const held = findHold(phase);
  if (held) return { status: held.reason === Reason.Retrying ? "True" : "False", ...held };
  const { overdue } = phase.report;
  if (overdue !== undefined) return { status: "False", reason: Reason.ProgressDeadlineExceeded, message: overdue };
  if (phase.phase === "suspended") {
    const message = "spec.suspend is true: the controller does not resolve, install, upgrade or correct anything until it is false";
    return { status: "False", reason: Reason.Suspended, message };
  }
  if (phase.phase === "unpacking") return { status: "True", reason: Reason.RollingOut, message: `Unpacking bundle image ${phase.image}` };
  return { status: "True", reason: Reason.Succeeded, message: "Desired state reached" };
}

function computeFailure(error: unknown): Omit<ConditionVerdict, "type"> {
  const terminal = findTerminalError(error);
  const message = getErrorMessage(error);
  if (terminal) return { status: "False", reason: terminal.reason || Reason.Blocked, message };
  if (error instanceof ReconcileError && EXTERNAL_REASONS.has(error.reason)) return { status: "False", reason: error.reason, message };
  return { status: "True", reason: Reason.Retrying, message };
}

/**
 * Returns condition Available.
 *
 * | the extension           | Available              |
 * | is being uninstalled    | False / Uninstalling   |
 * | has nothing installed   | False / Absent         |
 * | cannot be read          | Unknown / Unknown      |
 * | is installed            | state of its objects   |
 */
function availableVerdict(phase: Phase): ConditionVerdict {
  const type = ConditionType.Available;
  const { installed, unknownBecause } = getReleases(phase);
  const { availability } = phase.report;
  if (phase.phase === "deleting") return { type, status: "False", reason: Reason.Uninstalling, message: phase.progress };
  if (!installed && unknownBecause === undefined) return { type, status: "False", reason: Reason.Absent, message: "No bundle installed" };
  if (availability) return { type, status: availability.status, reason: availability.reason, message: availability.message };
  return {
    type,
    status: "Unknown",
    reason: Reason.Unknown,
    message: unknownBecause ?? "the objects of the bundle have not been checked yet",
  };
}

/**
 * Returns condition Ready: True if Progressing, Installed and Available have the desired state. Otherwise Ready has the
 * reason and message of the first condition, in this order, that has not.
 */
function readyVerdict(
  phase: Phase,
  installed: ConditionVerdict,
  progressing: ConditionVerdict,
  available: ConditionVerdict,
): ConditionVerdict {
  const type = ConditionType.Ready;
  const { installed: bundle } = getReleases(phase);
  const resolved = hasBundle(phase) ? phase.bundle : undefined;
  const unknown = [installed, available].some(({ status }) => status === "Unknown");
  const notReady = ({ reason, message }: ConditionVerdict): ConditionVerdict => ({
    type,
    status: unknown ? "Unknown" : "False",
    reason,
    message,
  });
  if (progressing.status !== "True" || progressing.reason !== Reason.Succeeded) return notReady(progressing);
  if (installed.status !== "True") return notReady(installed);
  if (resolved && bundle && (resolved.name !== bundle.name || resolved.version !== bundle.version)) {
    return notReady({
      ...progressing,
      reason: Reason.RollingOut,
      message: `bundle "${bundle.name}" is installed, but bundle "${resolved.name}" is desired`,
    });
  }
  if (available.status !== "True") return notReady(available);
  return { type, status: "True", reason: Reason.Succeeded, message: `bundle "${bundle?.name ?? ""}" is installed and available` };
}

/**
 * Returns Reconciling while the controller works towards Ready, or Stalled if the extension cannot progress until it is changed.
 * Undefined if Ready is True, if the extension waits for a user or another extension, and if an installed object is unhealthy, because it may recover.
 */
function kstatusVerdict(progressing: ConditionVerdict, { status, reason, message }: ConditionVerdict): KstatusVerdict | undefined {
  if (status === "True" || WAITING_REASONS.has(reason) || reason === Reason.Unhealthy) return undefined;
  return { type: progressing.status === "False" ? ConditionType.Stalled : ConditionType.Reconciling, reason, message };
}

function deprecationVerdicts(phase: Phase): ConditionVerdict[] {
  const { deprecation } = phase.report.catalogs;
  const { installed } = getReleases(phase);
  const { Deprecated, PackageDeprecated, ChannelDeprecated, BundleDeprecated } = ConditionType;
  const notInstalled: ConditionVerdict = {
    type: BundleDeprecated,
    status: "Unknown",
    reason: Reason.Absent,
    message: "no bundle installed yet",
  };
  if (deprecation.kind === "unknown") {
    const unknown = (type: string): ConditionVerdict => ({
      type,
      status: "Unknown",
      reason: Reason.DeprecationStatusUnknown,
      message: NO_CATALOG_DATA,
    });
    return [
      unknown(Deprecated),
      unknown(PackageDeprecated),
      unknown(ChannelDeprecated),
      installed ? unknown(BundleDeprecated) : notInstalled,
    ];
  }
  const found = deprecationMessages(deprecation, phase);
  const verdict = (type: string, messages: readonly string[], otherwise: string): ConditionVerdict =>
    messages.length > 0
      ? { type, status: "True", reason: Reason.Deprecated, message: messages.join("\n") }
      : { type, status: "False", reason: Reason.NotDeprecated, message: otherwise };
  return [
    verdict(Deprecated, [...found.package, ...found.channel, ...found.bundle], "not deprecated"),
    verdict(PackageDeprecated, found.package, "package not deprecated"),
    verdict(ChannelDeprecated, found.channel, "channel not deprecated"),
    found.bundle.length > 0 || installed ? verdict(BundleDeprecated, found.bundle, "bundle not deprecated") : notInstalled,
  ];
}

function deprecationMessages(
  deprecation: DeprecationStatus & { kind: "known" },
  phase: Phase,
): { package: string[]; channel: string[]; bundle: string[] } {
  return findDeprecations(deprecation.entries, {
    channels: phase.extension.spec.source.catalog?.channels ?? [],
    bundleName: getReleases(phase).installed?.name,
  });
}
