import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { findDecidingCondition, hasForeignStatus } from "./extensionState.ts";

/** Explanation of a condition for users. */
export interface ConditionAdvice {
  /** The meaning of the condition, usually in one sentence. */
  readonly means: string;
  /** Commands or other next steps; empty if nothing needs to be done. */
  readonly next: readonly string[];
}

type Explainer = (extension: Explained) => ConditionAdvice;
type Explained = Pick<ClusterExtension, "metadata" | "spec" | "status">;

/** Proposes an upgrade only if the controller has found a version that it may upgrade to. */
const listUpgradeSteps = ({ metadata: { name }, status }: Explained): string[] =>
  (status?.availableUpdates ?? []).length > 0 ? [`olmv1 upgrade ${name}`] : [];

const nothingToDo =
  (means: string): Explainer =>
  () => ({ means, next: [] });
const byName =
  (means: string, ...next: string[]): Explainer =>
  (extension) => {
    const { name } = extension.metadata;
    const account = extension.spec.serviceAccount?.name ?? "<none>";
    const filled = (text: string): string =>
      text.replaceAll("{namespace}", getNamespace(extension)).replaceAll("{account}", account).replaceAll("{name}", name);
    return { means: filled(means), next: next.map(filled) };
  };

/** The Go implementation creates no Events for a failure. */
const explainRetrying: Explainer = (extension) => ({
  means: "The last attempt failed. The controller retries automatically.",
  next: hasForeignStatus(extension) ? [] : [`olmv1 events ${extension.metadata.name}`],
});

/** Explanation of every reason, including those of catalogs. */
export const REASON_WORDS = {
  [Reason.Succeeded]: nothingToDo("No problems found."),
  [Reason.Failed]: nothingToDo("No bundle is installed, or the installed bundle is unknown. Condition Progressing contains the reason."),
  [Reason.Absent]: nothingToDo("Nothing is installed yet."),
  [Reason.RollingOut]: byName(
    "The rollout is in progress: the image is being pulled, or some objects are not ready yet.",
    "olmv1 tree {name}",
  ),
  [Reason.Healthy]: nothingToDo("All objects with a health check are healthy."),
  [Reason.Unhealthy]: byName(
    "The installed bundle does not work: one of its objects is not ready.",
    "olmv1 tree {name}",
    "olmv1 rollback {name}   # if it worked before an upgrade",
  ),
  [Reason.Unknown]: byName("The health is unknown, for example because the ServiceAccount cannot read an object.", "olmv1 tree {name}"),
  [Reason.Retrying]: explainRetrying,
  [Reason.Blocked]: byName(
    "The controller cannot continue until you change the ClusterExtension or the objects in the message.",
    "kubectl edit clusterextension {name}",
  ),
  [Reason.Uninstalling]: byName(
    "The extension is being uninstalled.",
    "olmv1 uninstall {name}   # waits, and removes objects that olmv1 install created",
  ),
  [Reason.Suspended]: byName(
    "spec.suspend is true: the controller does not reconcile the extension.",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"suspend":false}}'`,
  ),
  [Reason.AwaitingApproval]: byName("A change awaits your approval. The controller keeps the installed bundle.", "olmv1 approve {name}"),
  [Reason.RequirementsNotMet]: byName("The cluster does not meet the requirements of the bundle.", "olmv1 resolve {name} --explain"),
  [Reason.NotUpgradeable]: byName(
    "The installed operator does not allow its upgrade, or the controller cannot read whether it does. The controller keeps the installed bundle.",
    "olmv1 describe {name}   # shows the reason",
  ),
  [Reason.RequiredByOthers]: byName(
    "Other extensions depend on this extension. Uninstall them first.",
    "kubectl annotate clusterextension {name} olm.operatorframework.io/force-uninstall=true   # uninstall anyway",
  ),
  [Reason.BackupRequired]: byName(
    "The uninstall would delete custom resources that the last backup does not contain. It resumes after a backup.",
    "olmv1 backup {name}",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"uninstall":{"backup":"Optional"}}}'   # delete them without a backup`,
  ),
  [Reason.ConversionNeeded]: byName(
    "Custom resources to be kept need the conversion webhook of this extension. The message lists them.",
    "olmv1 uninstall {name} --crd-policy Delete   # delete the custom resources too",
    "kubectl annotate clusterextension {name} olm.operatorframework.io/drop-conversion=true   # keep them without conversion",
  ),
  [Reason.InvalidConfiguration]: byName("spec.config is invalid for the bundle.", "kubectl edit clusterextension {name}"),
  [Reason.UnsatisfiedDependencies]: byName(
    "Dependencies of the bundle are missing: no extension provides them, and the cluster does not serve them.",
    "olmv1 resolve {name} --explain",
  ),
  [Reason.ProgressDeadlineExceeded]: byName(
    "The rollout takes longer than spec.progressDeadlineMinutes.",
    "olmv1 tree {name}",
    "olmv1 rollback {name}   # if it worked before an upgrade",
  ),
  [Reason.Deprecated]: (extension) => ({
    means: "The catalog deprecates the package, channel or bundle of this extension.",
    next: listReplacements(extension),
  }),
  [Reason.NotDeprecated]: nothingToDo("The catalog does not deprecate the package, channel or bundle of this extension."),
  [Reason.DeprecationStatusUnknown]: byName("The deprecation is unknown because no catalog is available.", "kubectl get clustercatalogs"),
  [Reason.Available]: nothingToDo("The catalog is served."),
  [Reason.Unavailable]: byName("The catalog is not served, so its bundles cannot be installed.", "kubectl describe clustercatalog {name}"),
  [Reason.UserSpecifiedUnavailable]: byName(
    "The catalog is not served because spec.availabilityMode is Unavailable.",
    `kubectl patch clustercatalog {name} --type merge -p '{"spec":{"availabilityMode":"Available"}}'`,
  ),
  [Reason.Valid]: nothingToDo("The content of the catalog is valid."),
  [Reason.InvalidContent]: byName(
    "The content of the catalog contains errors. The valid part is served.",
    "kubectl describe clustercatalog {name}",
  ),
  [Reason.IncompatibleOperatorInstalled]: (extension) => ({
    means: "The installed bundle does not support the next minor version of the cluster and blocks the upgrade.",
    next: ["olmv1 cluster-upgrade-check", ...listUpgradeSteps(extension)],
  }),
  [Reason.InvalidMaxOpenShiftVersion]: byName("The bundle's olm.maxOpenShiftVersion property is malformed.", "olmv1 cluster-upgrade-check"),
  [Reason.ReleasesUnreadable]: byName(
    "A release Secret of the extension cannot be read, so the supported cluster version of the installed bundle is unknown.",
    "olmv1 history {name}",
    "olmv1 cluster-upgrade-check",
  ),
  [Reason.ClusterVersionUnknown]: byName(
    "The version of the cluster is unknown, so the controller cannot check whether the bundle supports it.",
    "olmv1 cluster-upgrade-check",
  ),
  [Reason.Compatible]: nothingToDo("The installed bundle does not block an upgrade of the cluster."),
} as const satisfies Record<Reason, Explainer>;

/** Explanations of problem types, which are more specific than the reason of the condition. */
const PROBLEM_WORDS: Readonly<Partial<Record<string, Explainer>>> = {
  MissingPermissions: byName(
    "ServiceAccount {namespace}/{account} lacks permissions that the bundle needs. No objects were changed. The controller resumes once you grant them.",
    "olmv1 upgrade {name}   # grants them if olmv1 install created the ServiceAccount",
  ),
  // Their next steps are commands for the extension.
  PermissionsPending: nothingToDo("Permissions that the bundle needs wait for approval. An installed version keeps its permissions."),
  PermissionsDenied: nothingToDo("The PermissionPolicy denies permissions that the bundle needs, or does not cover the extension."),
  NamespaceNotFound: nothingToDo("A namespace does not exist. The controller resumes once you create it."),
  ServiceAccountNotFound: byName(
    "ServiceAccount {namespace}/{account} does not exist. The controller resumes once you create it with its permissions.",
    "olmv1 rbac --help   # prints the ServiceAccount with exactly the permissions that a bundle needs",
  ),
  ServiceAccountNotSet: byName(
    "The extension has no ServiceAccount, which this controller requires.",
    "olmv1 rbac --help   # prints a ServiceAccount with exactly the permissions that a bundle needs",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"serviceAccount":{"name":"NAME"}}}'`,
  ),
  AmbiguousCatalogs: byName(
    "Several catalogs with the same priority contain the package.",
    "olmv1 resolve {name} --explain",
    "select one with spec.source.catalog.selector, or increase spec.priority of one",
  ),
  BundleNotFound: byName(
    "No bundle in the selected catalogs satisfies spec.source.",
    "olmv1 resolve {name} --explain",
    "kubectl get clustercatalogs",
  ),
  CRDUpgradeUnsafe: byName(
    "Upgrading the CustomResourceDefinition could lose data in custom resources or break their clients.",
    "olmv1 upgrade {name} --version RANGE   # a version with a compatible CRD",
    "configure spec.install.preflight.crdUpgradeSafety: docs/how-to/crd-upgrades.md",
  ),
  DriftDetected: byName(
    "Objects of the installed bundle were changed by others. spec.drift.policy determines whether the controller reverts the changes.",
    "olmv1 history {name}",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"drift":{"policy":"Correct"}}}'`,
  ),
  ImageRejected: byName("The signature policy rejects the image.", "olmv1 events {name}"),
  QuotaExceeded: byName(
    "The objects exceed a ResourceQuota. Installation resumes when quota is available.",
    "kubectl -n {namespace} describe resourcequota",
  ),
};

/** Condition reasons whose cause can be in `status.problems`. */
const EXPLAINED_BY_PROBLEMS: ReadonlySet<string> = new Set([Reason.Retrying, Reason.Blocked]);

/**
 * Explains a condition by its reason or, after a failure, by the first Error in `status.problems` with an explanation.
 * The explanation of an unknown reason is empty.
 */
export function explainCondition(extension: Explained, { reason }: Pick<Condition, "reason">): ConditionAdvice {
  const errors = EXPLAINED_BY_PROBLEMS.has(reason) ? (extension.status?.problems ?? []).filter(({ severity }) => severity === "Error") : [];
  const specific = errors.flatMap(({ type }) => (Object.hasOwn(PROBLEM_WORDS, type) ? (PROBLEM_WORDS[type] ?? []) : []))[0];
  return (specific ?? findWords(reason))(extension);
}

/** Explains a problem by its type. The explanation of an unknown type is empty. */
export function explainProblem(extension: Explained, { type }: { readonly type: string }): ConditionAdvice {
  const specific = Object.hasOwn(PROBLEM_WORDS, type) ? PROBLEM_WORDS[type] : undefined;
  return (specific ?? findWords(type))(extension);
}

/** Returns the next steps of the Errors in `status.problems`, without duplicates. */
export function listNextSteps({ status }: Pick<ClusterExtension, "status">): string[] {
  return [...new Set((status?.problems ?? []).flatMap(({ severity, next }) => (severity === "Error" && next !== undefined ? [next] : [])))];
}

/** Returns what replaces a deprecated package, channel or bundle. */
function listReplacements(extension: Explained): string[] {
  const { metadata, status } = extension;
  const isDeprecated = (type: string): boolean => findCondition(status?.conditions, type)?.status === "True";
  const upgrade = listUpgradeSteps(extension);
  if (isDeprecated(ConditionType.PackageDeprecated))
    return ["install the package that the message recommends, then uninstall this extension", ...upgrade];
  if (isDeprecated(ConditionType.ChannelDeprecated)) return ["choose another channel with spec.source.catalog.channels", ...upgrade];
  if (upgrade.length > 0) return upgrade;
  const { blockedUpdate } = status ?? {};
  return blockedUpdate
    ? [`olmv1 why-not ${metadata.name} ${blockedUpdate.version}   # why the newer version is not allowed`]
    : ["wait for a newer version in the catalog, or choose another package"];
}

function findWords(reason: string): Explainer {
  return Object.hasOwn(REASON_WORDS, reason) ? REASON_WORDS[reason as Reason] : nothingToDo("");
}

/**
 * Returns the most relevant condition: Progressing while it is not Succeeded, then Available, then Ready. Without Ready, the one that decides the
 * state.
 */
export function findMostRelevantCondition(conditions: readonly Condition[] | undefined): Condition | undefined {
  const find = (type: string): Condition | undefined => conditions?.find((condition) => condition.type === type);
  const ready = find(ConditionType.Ready);
  if (!ready) return findDecidingCondition(conditions);
  if (ready.status === "True") return ready;
  const progressing = find(ConditionType.Progressing);
  if (progressing && (progressing.status !== "True" || progressing.reason !== Reason.Succeeded)) return progressing;
  return find(ConditionType.Available) ?? ready;
}
