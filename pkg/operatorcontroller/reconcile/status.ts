import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { Inventory, KeptCrds, ProvidedApis } from "../../api/clusterExtensionStatus.ts";
import { boundedMessage, setCondition } from "../../api/conditions.ts";
import { ConditionType, INVENTORY_MAX, KEPT_CRDS_MAX, PROVIDED_APIS_MAX, Reason } from "../../api/constants.ts";
import { type Condition, groupOf, type KubeObject, versionOf } from "../../api/k8s.ts";
import { type AggregatedApi, aggregatedApis } from "../../bundle/apiServices.ts";
import { messageOf, ReconcileError, terminalIn } from "../../errors/errors.ts";
import { isCrd } from "../../release/identity.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { type LeftObject, lastDeployed } from "../../release/record.ts";
import { availableUpdates } from "../../resolve/availableUpdates.ts";
import { deprecationsFor } from "../../resolve/candidates.ts";
import { applyFilter } from "../../resolve/filters.ts";
import type { FilteredCatalogs } from "../../resolve/resolution.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { compareText } from "../../text/compare.ts";
import { type DeprecationFacts, findInstalledCatalog, type ReconcileState, reconcileRequestOf } from "../state/reconcileState.ts";
import { type ConditionVerdict, upgradeVerdict } from "./clusterUpgradeCondition.ts";

/** What status says of the objects of a release: the first hundred by name, and how many there are. */
export function inventoryOf(objects: readonly KubeObject[]): Inventory {
  return {
    count: objects.length,
    objects: objects.slice(0, INVENTORY_MAX).map(({ apiVersion, kind, metadata: { namespace, name } }) => ({
      ...(groupOf(apiVersion) === "" ? {} : { group: groupOf(apiVersion) }),
      version: versionOf(apiVersion),
      kind,
      ...(namespace ? { namespace } : {}),
      name,
    })),
  };
}

/**
 * The APIs that the CustomResourceDefinitions and APIServices of a release serve, sorted by group and kind; a definition that states none gives
 * none.
 */
export function providedApis(objects: readonly KubeObject[]): ProvidedApis {
  const defined = objects.filter(isCrd).flatMap((crd) => {
    const { group, names, versions } = (crd["spec"] ?? {}) as CrdSpec;
    const served = Array.isArray(versions) ? (versions as { name?: unknown; served?: unknown }[]) : [];
    const versionNames = served.flatMap((version) => (version?.served === true && typeof version.name === "string" ? [version.name] : []));
    return typeof group === "string" && typeof names?.kind === "string" ? [{ group, kind: names.kind, versions: versionNames }] : [];
  });
  const key = ({ group, kind }: { group: string; kind: string }): string => `${group}/${kind}`;
  const aggregated = [...Map.groupBy(aggregatedApis(objects), key).values()].map((apis) => {
    const [{ group, kind }] = apis as [AggregatedApi];
    return { group, kind, versions: [...new Set(apis.map(({ version }) => version))] };
  });
  return [...defined, ...aggregated].sort((a, b) => compareText(key(a), key(b))).slice(0, PROVIDED_APIS_MAX);
}

/** What status says of the definitions that earlier releases left. */
function keptCrds(left: readonly LeftObject[], hide: (text: string) => string): KeptCrds {
  const kept = left.flatMap(({ name, kept: because }) => (because === undefined ? [] : [{ name, message: boundedMessage(hide(because)) }]));
  return kept.slice(0, KEPT_CRDS_MAX);
}

interface CrdSpec {
  group?: unknown;
  names?: { kind?: unknown };
  versions?: unknown;
}

type UpdateStatus = Pick<ClusterExtensionStatus, "availableUpdates" | "blockedUpdate">;

/**
 * What the extension can be upgraded to next from what is installed at the end of the pass, from what the catalogs said in it.
 * A pass that did not come to the catalogs leaves what is known of the same bundle as it is.
 */
function updateStatus(extension: Readonly<ClusterExtension>, facts: ReconcileState): UpdateStatus {
  const { installed, catalogs, clusterVersion } = facts;
  const source = extension.spec?.source?.catalog;
  if (!installed || !source) return {};
  if (!catalogs) return knownOf(extension, installed);
  const isAsResolved = facts.filtered?.installed === installed;
  const considered = isAsResolved
    ? facts.filtered
    : filterCandidates({ source, catalogs, installed, installedFrom: findInstalledCatalog(facts), cluster: clusterVersion });
  if (considered?.kind !== "candidates") return {};
  const found = availableUpdates(isAsResolved ? considered : withLaterFilters(considered, facts.filtered));
  if (!found) return {};
  const { updates, blocked } = found;
  return { availableUpdates: updates.map((update) => ({ ...update })), ...(blocked ? { blockedUpdate: { ...blocked } } : {}) };
}

/** After an upgrade: what later filters had against bundles holds for them still, as far as this pass knows. */
function withLaterFilters(considered: FilteredCatalogs, before: FilteredCatalogs | undefined): FilteredCatalogs {
  const results = considered.results.map((found) => {
    const filters = before?.results.find(({ catalog }) => catalog === found.catalog)?.extraFilters ?? [];
    return filters.reduce((left, filter) => {
      const rules = new Map([...filter.removed].map(([{ bundle }, rule]) => [bundle, rule]));
      const removed = left.allowed.flatMap((one) => {
        const rule = rules.get(one.bundle);
        return rule === undefined ? [] : [[one, rule] as const];
      });
      return removed.length === 0 ? left : applyFilter(left, { ...filter, removed: new Map(removed) });
    }, found);
  });
  return { ...considered, results };
}

function knownOf({ status }: Readonly<ClusterExtension>, { name, version }: { name: string; version: string }): UpdateStatus {
  const { availableUpdates: updates, blockedUpdate } = status ?? {};
  const bundle = status?.install?.bundle;
  if (!updates || bundle?.name !== name || bundle.version !== version) return {};
  return { availableUpdates: updates, ...(blockedUpdate ? { blockedUpdate } : {}) };
}

/** Reasons of errors that are over once others have done something: nothing of the extension goes wrong, and nothing is under way. */
const OF_OTHERS: ReadonlySet<string> = new Set([Reason.RequirementsNotMet, Reason.RequiredByOthers, Reason.ConversionNeeded]);
const NO_CATALOG_DATA = "deprecation status unknown: catalog data unavailable";

/**
 * The status that an extension has after a pass. Pure.
 * @param error what ended the pass early, if anything did.
 * @param now RFC 3339, used for conditions whose status changes.
 * @see operator-controller df2c201d internal/operator-controller/controllers/common_controller.go
 */
export function statusFrom(
  extension: Readonly<ClusterExtension>,
  facts: ReconcileState,
  error: unknown,
  now: string,
): ClusterExtensionStatus {
  const isOver = facts.deleting !== undefined || facts.isSuspended;
  const deprecations = isOver ? [] : deprecationVerdicts(facts);
  const go = [installedVerdict(facts), progressingVerdict(facts, error)] as const;
  const available = availableVerdict(facts);
  const verdicts = [...go, ...deprecations, ...(facts.isSuspended ? [] : [available]), readyVerdict(facts, ...go, available)];
  const observedGeneration = extension.metadata.generation ?? 0;
  const upgrade = facts.active && upgradeVerdict(facts, facts.active);
  if (upgrade) verdicts.push(upgrade);
  const outdated = (type: string): boolean => type === ConditionType.ClusterUpgradeBlocked && facts.active !== undefined && !upgrade;
  let conditions: Condition[] = (extension.status?.conditions ?? []).filter(({ type }) => !outdated(type));
  for (const verdict of verdicts) {
    conditions = setCondition(
      conditions,
      { ...verdict, message: boundedMessage(facts.hidden.hide(verdict.message)), observedGeneration },
      now,
    );
  }
  const { installed } = facts;
  const status = { conditions, ...(facts.plan ? { plan: facts.plan } : {}), ...handledRequest(extension, facts) };
  if (!installed && facts.unreadable?.length) return { ...status, ...installBefore(extension) };
  return installed
    ? { ...status, install: installStatus(installed, facts), ...contentStatus(facts), ...updateStatus(extension, facts) }
    : status;
}

/** What was known to be installed. It stays while releases cannot be read or found, as it is all that tells that something is installed. */
function installBefore({ status }: Readonly<ClusterExtension>): Partial<ClusterExtensionStatus> {
  const { install, inventory, providedAPIs, keptCRDs } = status ?? {};
  return {
    ...(install ? { install } : {}),
    ...(inventory ? { inventory } : {}),
    ...(providedAPIs ? { providedAPIs } : {}),
    ...(keptCRDs ? { keptCRDs } : {}),
  };
}

/** What the deployed release holds. */
function contentStatus({
  deployed,
  history,
  hidden,
}: ReconcileState): Pick<ClusterExtensionStatus, "inventory" | "providedAPIs" | "keptCRDs"> {
  const release = deployed ?? lastDeployed(history.current);
  if (!release) return {};
  const apis = providedApis(release.objects);
  const kept = keptCrds(release.left ?? [], (text) => hidden.hide(text));
  return {
    inventory: inventoryOf(release.objects),
    ...(apis.length > 0 ? { providedAPIs: apis } : {}),
    ...(kept.length > 0 ? { keptCRDs: kept } : {}),
  };
}

/** A request counts as handled once a pass ended, whatever became of it: one that failed is tried again in any case. A pull has to end before. */
function handledRequest(
  extension: Readonly<ClusterExtension>,
  facts: ReconcileState,
): Pick<ClusterExtensionStatus, "lastHandledReconcileAt"> {
  const handled = facts.isSuspended || facts.unpacking ? extension.status?.lastHandledReconcileAt : reconcileRequestOf(extension);
  return handled === undefined ? {} : { lastHandledReconcileAt: handled };
}

function installStatus(installed: InstalledBundle, facts: ReconcileState): NonNullable<ClusterExtensionStatus["install"]> {
  const catalog = findInstalledCatalog(facts);
  return { bundle: bundleStatus(installed), ...(catalog === undefined ? {} : { catalog }) };
}

function bundleStatus(installed: InstalledBundle): { name: string; version: string; release?: string } {
  const { name, version, release } = installed;
  return release === undefined ? { name, version } : { name, version, release };
}

function installedVerdict(facts: ReconcileState): ConditionVerdict {
  const type = ConditionType.Installed;
  const { installed, unknownBecause } = facts;
  if (installed) {
    return { type, status: "True", reason: Reason.Succeeded, message: `Installed bundle ${installed.image} successfully` };
  }
  if (unknownBecause !== undefined) return { type, status: "Unknown", reason: Reason.Failed, message: unknownBecause };
  return { type, status: "False", reason: Reason.Failed, message: "No bundle installed" };
}

/**
 * | pass ended with                 | Progressing                      |
 * | nothing                         | True / Succeeded                 |
 * | nothing, what is wanted is held | that one's reason                |
 * | nothing, and a rollout overdue  | False / ProgressDeadlineExceeded |
 * | nothing, while removed          | True / Uninstalling              |
 * | nothing, while suspended        | False / Suspended                |
 * | nothing, while an image is pulled | True / RollingOut              |
 * | a terminal error                | False / Blocked, or its reason   |
 * | what others have to bring about | False / its reason               |
 * | any other error                 | True / Retrying                  |
 */
function progressingVerdict(facts: ReconcileState, error: unknown): ConditionVerdict {
  const type = ConditionType.Progressing;
  if (error === undefined && facts.deleting !== undefined)
    return { type, status: "True", reason: Reason.Uninstalling, message: facts.deleting };
  const { held } = facts;
  if (error === undefined && held) return { type, status: held.reason === Reason.Retrying ? "True" : "False", ...held };
  if (error === undefined && facts.overdue !== undefined)
    return { type, status: "False", reason: Reason.ProgressDeadlineExceeded, message: facts.overdue };
  if (error === undefined && facts.isSuspended) {
    const message = "spec.suspend is true: nothing is resolved, installed, upgraded or put back until it is false";
    return { type, status: "False", reason: Reason.Suspended, message };
  }
  const lacking = facts.lacking === undefined ? [] : [facts.lacking];
  if (error === undefined && facts.unpacking) {
    const message = [`Unpacking bundle image ${facts.unpacking.image}`, ...facts.notes, ...lacking].join("; ");
    return { type, status: "True", reason: Reason.RollingOut, message };
  }
  if (error === undefined) {
    const message = ["Desired state reached", ...facts.notes, ...lacking].join("; ");
    return { type, status: "True", reason: Reason.Succeeded, message };
  }
  const terminal = terminalIn(error);
  const message = [messageOf(error), ...lacking].join("; ");
  if (terminal) return { type, status: "False", reason: terminal.reason || Reason.Blocked, message };
  if (error instanceof ReconcileError && OF_OTHERS.has(error.reason)) return { type, status: "False", reason: error.reason, message };
  return { type, status: "True", reason: Reason.Retrying, message };
}

/**
 * | extension                  | Available                    |
 * | is being removed           | False / Uninstalling         |
 * | has nothing installed      | False / Absent               |
 * | cannot be asked            | Unknown / Unknown            |
 * | is installed               | what its objects say         |
 */
function availableVerdict({ deleting, installed, unknownBecause, availability }: ReconcileState): ConditionVerdict {
  const type = ConditionType.Available;
  if (deleting !== undefined) return { type, status: "False", reason: Reason.Uninstalling, message: deleting };
  if (!installed && unknownBecause === undefined) return { type, status: "False", reason: Reason.Absent, message: "No bundle installed" };
  if (availability) return { type, ...availability };
  return { type, status: "Unknown", reason: Reason.Unknown, message: unknownBecause ?? "the objects of the bundle were not looked at yet" };
}

/** True when all three are as a user wishes them; otherwise the first that is not gives reason and message, Progressing before the others. */
function readyVerdict(
  facts: ReconcileState,
  installed: ConditionVerdict,
  progressing: ConditionVerdict,
  available: ConditionVerdict,
): ConditionVerdict {
  const type = ConditionType.Ready;
  const { resolved, installed: bundle } = facts;
  const unknown = [installed, available].some(({ status }) => status === "Unknown");
  const not = ({ reason, message }: ConditionVerdict): ConditionVerdict => ({
    type,
    status: unknown ? "Unknown" : "False",
    reason,
    message,
  });
  if (progressing.status !== "True" || progressing.reason !== Reason.Succeeded) return not(progressing);
  if (installed.status !== "True") return not(installed);
  if (resolved && bundle && (resolved.name !== bundle.name || resolved.version !== bundle.version)) {
    return not({
      ...progressing,
      reason: Reason.RollingOut,
      message: `bundle "${bundle.name}" is installed, "${resolved.name}" is wanted`,
    });
  }
  if (available.status !== "True") return not(available);
  return { type, status: "True", reason: Reason.Succeeded, message: `bundle "${bundle?.name ?? ""}" is installed and available` };
}

function deprecationVerdicts(facts: ReconcileState): ConditionVerdict[] {
  const { deprecation, installed } = facts;
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
  const found = messagesOf(deprecation, facts);
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

function messagesOf(
  deprecation: DeprecationFacts & { kind: "known" },
  facts: ReconcileState,
): { package: string[]; channel: string[]; bundle: string[] } {
  return deprecationsFor(deprecation.entries, {
    channels: facts.extension.spec.source.catalog?.channels ?? [],
    bundleName: facts.installed?.name,
  });
}
