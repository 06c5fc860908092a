import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { boundedMessage, setCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import type { Condition } from "../../api/k8s.ts";
import { messageOf, ReconcileError, terminalIn } from "../../errors/errors.ts";
import { lastDeployed } from "../../release/record.ts";
import { deprecationsFor } from "../../resolve/filters.ts";
import { upgradeVerdict } from "../clusterupgrade/clusterUpgradeVerdict.ts";
import { type DeprecationFacts, type InstalledBundle, installedFrom, type PassFacts } from "../facts.ts";
import { reconcileRequestOf } from "../reconcileRequest.ts";
import type { ConditionVerdict } from "./conditionVerdict.ts";
import { inventoryOf, keptCrds, providedApis } from "./inventory.ts";
import { updateStatus } from "./updates.ts";

/** Reasons of errors that are over once others have done something: nothing of the extension goes wrong, and nothing is under way. */
const OF_OTHERS: ReadonlySet<string> = new Set([Reason.RequirementsNotMet, Reason.RequiredByOthers, Reason.ConversionNeeded]);
const NO_CATALOG_DATA = "deprecation status unknown: catalog data unavailable";

/**
 * The status that an extension has after a pass. Pure.
 * @param error what ended the pass early, if anything did.
 * @param now RFC 3339, used for conditions whose status changes.
 * @see operator-controller internal/operator-controller/controllers/common_controller.go
 */
export function statusFrom(extension: Readonly<ClusterExtension>, facts: PassFacts, error: unknown, now: string): ClusterExtensionStatus {
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
function contentStatus({ deployed, history, hidden }: PassFacts): Pick<ClusterExtensionStatus, "inventory" | "providedAPIs" | "keptCRDs"> {
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
function handledRequest(extension: Readonly<ClusterExtension>, facts: PassFacts): Pick<ClusterExtensionStatus, "lastHandledReconcileAt"> {
  const handled = facts.isSuspended || facts.unpacking ? extension.status?.lastHandledReconcileAt : reconcileRequestOf(extension);
  return handled === undefined ? {} : { lastHandledReconcileAt: handled };
}

function installStatus(installed: InstalledBundle, facts: PassFacts): NonNullable<ClusterExtensionStatus["install"]> {
  const catalog = installedFrom(facts);
  return { bundle: bundleStatus(installed), ...(catalog === undefined ? {} : { catalog }) };
}

function bundleStatus(installed: InstalledBundle): { name: string; version: string; release?: string } {
  const { name, version, release } = installed;
  return release === undefined ? { name, version } : { name, version, release };
}

function installedVerdict(facts: PassFacts): ConditionVerdict {
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
function progressingVerdict(facts: PassFacts, error: unknown): ConditionVerdict {
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
function availableVerdict({ deleting, installed, unknownBecause, availability }: PassFacts): ConditionVerdict {
  const type = ConditionType.Available;
  if (deleting !== undefined) return { type, status: "False", reason: Reason.Uninstalling, message: deleting };
  if (!installed && unknownBecause === undefined) return { type, status: "False", reason: Reason.Absent, message: "No bundle installed" };
  if (availability) return { type, ...availability };
  return { type, status: "Unknown", reason: Reason.Unknown, message: unknownBecause ?? "the objects of the bundle were not looked at yet" };
}

/** True when all three are as a user wishes them; otherwise the first that is not gives reason and message, Progressing before the others. */
function readyVerdict(
  facts: PassFacts,
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

function deprecationVerdicts(facts: PassFacts): ConditionVerdict[] {
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
  facts: PassFacts,
): { package: string[]; channel: string[]; bundle: string[] } {
  return deprecationsFor(deprecation.entries, {
    channels: facts.extension.spec.source.catalog?.channels ?? [],
    bundleName: facts.installed?.name,
  });
}
