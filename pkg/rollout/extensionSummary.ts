import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { ConditionType } from "../api/constants.ts";
import { findProblem } from "../api/problems.ts";
import { formatAge } from "../golang/time.ts";
import { getAccountName } from "../permissions/grantObjects.ts";
import { findPin } from "./changes.ts";
import type { ExtensionDescription } from "./extensionDescription.ts";
import { findLastDrift } from "./extensionEvents.ts";
import { describeCatalogs, formatRangeCommands, hasForeignStatus, NOT_REPORTED } from "./extensionState.ts";
import { getUninstallPolicy } from "./uninstallPolicy.ts";

/** Describes the installed bundle: name, version and catalog. */
export function describeInstalledBundle({ status }: Pick<ClusterExtension, "status">): string {
  const { bundle, catalog } = status?.install ?? {};
  if (!bundle) return "none";
  return `${bundle.name} (version ${bundle.version})${catalog === undefined ? "" : `, from catalog ${catalog}`}`;
}

/** Describes the namespace of an extension: by default, the controller chooses it when it installs a bundle. */
export function describeNamespace(extension: Pick<ClusterExtension, "spec" | "status">): string {
  const namespace = getNamespace(extension);
  return namespace === "" ? "none yet; the first installed bundle determines it" : namespace;
}

/** Describes the ServiceAccount that installs the bundle: who created it, and whether it has the permissions. */
export function describeInstaller({ extension, account }: Pick<ExtensionDescription, "extension" | "account">): string {
  const { spec, status } = extension;
  const namespace = getNamespace(extension);
  const isForeign = hasForeignStatus(extension);
  if (isForeign && !spec.serviceAccount?.name) return "the controller, with its own permissions";
  if (namespace === "") return `ServiceAccount ${getAccountName(extension)}; its namespace is known once a bundle is installed`;
  const who = `ServiceAccount ${namespace}/${getAccountName(extension)}`;
  if (account === "missing" && !spec.serviceAccount?.name) return `${who}, which permission-manager has not created yet`;
  if (account === "missing") return `${who}, which does not exist`;
  if (typeof account === "object") return `${who} (${account.unknown})`;
  const creator = !spec.serviceAccount?.name ? ", created by permission-manager" : account === "made" ? ", created by olmv1 install" : "";
  const progressing = status?.conditions?.find(({ type }) => type === ConditionType.Progressing);
  if (!progressing) return `${who}${creator}; its permissions have not been checked yet`;
  if (isForeign) return `${who}${creator}; its permissions are ${NOT_REPORTED}`;
  if (findProblem(status, "MissingPermissions")) return `${who}${creator}; it lacks permissions, see Problems`;
  return `${who}${creator}; ${status?.install ? "it has the permissions that the installed bundle needs" : "no missing permissions are known"}`;
}

/** Describes from where and in which versions the extension takes its bundle. */
export function describeSource(extension: ClusterExtension): string {
  const { channels = [], version = "", upgradeConstraintPolicy, supportPolicy = "Ignore" } = extension.spec.source.catalog ?? {};
  return [
    `catalogs: ${describeCatalogs(extension)}`,
    `channels: ${channels.length > 0 ? channels.join(", ") : "all"}`,
    `version: ${version === "" ? "any" : version}`,
    ...(upgradeConstraintPolicy === "SelfCertified" ? ["upgradeConstraintPolicy: SelfCertified"] : []),
    ...(supportPolicy === "Ignore" ? [] : [`supportPolicy: ${supportPolicy}`]),
  ].join("; ");
}

/** Describes each available update; `none` without an update. Empty if the controller has not searched for updates. */
export function describeAvailableUpdates({ status }: Pick<ClusterExtension, "status">): string[] {
  if (status?.install && hasForeignStatus({ status })) return [NOT_REPORTED];
  if (!status?.availableUpdates) return [];
  if (status.availableUpdates.length === 0) return ["none"];
  return status.availableUpdates.map(({ version, catalog, edge, channel, deprecated }) => {
    const by = edge === undefined ? "" : `, by ${edge}${channel === undefined ? "" : ` in channel ${channel}`}`;
    return `${version} (catalog ${catalog}${by}${deprecated ? ", deprecated" : ""})`;
  });
}

/** Describes the blocked update, and the commands that allow it; empty if no update is blocked. */
export function describeBlockedUpdate({ metadata, status }: Pick<ClusterExtension, "metadata" | "status">): string[] {
  const { blockedUpdate } = status ?? {};
  if (!blockedUpdate) return [];
  return [`${blockedUpdate.version}: ${blockedUpdate.message}`, ...formatRangeCommands(metadata.name, blockedUpdate)];
}

/** Returns what is deprecated and why; undefined if nothing is. */
export function findDeprecation({ status }: Pick<ClusterExtension, "status">): string | undefined {
  return status?.conditions?.find(({ type, status: is }) => type === ConditionType.Deprecated && is === "True")?.message;
}

/** Describes the revision that the extension is pinned to; undefined if it is not pinned. */
export function describePin(extension: Pick<ClusterExtension, "metadata">): string | undefined {
  const pinned = findPin(extension);
  return pinned === undefined ? undefined : `to revision ${pinned}; remove the pin with olmv1 rollback ${extension.metadata.name} --cancel`;
}

/** Describes the drift policy and the last drift. @param now milliseconds since the epoch */
export function describeDrift({ extension, events }: Pick<ExtensionDescription, "extension" | "events">, now: number): string {
  const { spec } = extension;
  if (hasForeignStatus(extension)) return NOT_REPORTED;
  const policy = `policy ${spec.drift?.policy ?? "Correct"}`;
  const last = typeof events === "string" ? undefined : findLastDrift(events);
  if (!last) return `${policy}; no recent drift`;
  return `${policy}; ${last.reason} ${formatAge(last.lastTimestamp, now)} ago: ${last.message ?? ""}`;
}

/** Describes what an uninstall does with the CustomResourceDefinitions of the extension. */
export function describeUninstallPolicy(extension: ClusterExtension): string {
  const policy = getUninstallPolicy(extension);
  return hasForeignStatus(extension) ? `${policy}: this OLM deletes them with all custom resources` : policy;
}
