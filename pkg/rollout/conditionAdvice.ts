import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";

/** A condition for people. */
export interface ConditionAdvice {
  /** One sentence: what it comes to. */
  readonly means: string;
  /** Commands, or what else somebody can do; none where nothing has to be done. */
  readonly next: readonly string[];
}

type Words = (extension: Explained) => ConditionAdvice;
type Explained = Pick<ClusterExtension, "metadata" | "spec" | "status">;

const nothingToDo =
  (means: string): Words =>
  () => ({ means, next: [] });
const byName =
  (means: string, ...next: string[]): Words =>
  ({ metadata: { name }, spec }) => {
    const account = spec.serviceAccount?.name ?? "<none>";
    const filled = (text: string): string =>
      text.replaceAll("{namespace}", spec.namespace).replaceAll("{account}", account).replaceAll("{name}", name);
    return { means: filled(means), next: next.map(filled) };
  };

/** What each reason means; a row for every reason there is. Those of catalogs speak of catalogs. */
export const REASON_WORDS = {
  [Reason.Succeeded]: nothingToDo("It is as it should be."),
  [Reason.Failed]: nothingToDo("No bundle is installed, or it is not known which one; Progressing tells why."),
  [Reason.Absent]: nothingToDo("Nothing is installed yet."),
  [Reason.RollingOut]: byName("It is being rolled out: its image is pulled, or not every object is ready yet.", "olmv1 tree {name}"),
  [Reason.Healthy]: nothingToDo("Every object that has a health is healthy."),
  [Reason.Unhealthy]: byName(
    "What is installed does not work: an object of it is not ready.",
    "olmv1 tree {name}",
    "olmv1 rollback {name}   # if it worked before an upgrade",
  ),
  [Reason.Unknown]: byName(
    "It cannot be told whether it works, such as when the ServiceAccount may not read an object.",
    "olmv1 tree {name}",
  ),
  [Reason.Retrying]: byName("The last try failed; it is tried again by itself.", "olmv1 events {name}"),
  [Reason.Blocked]: byName(
    "It cannot go on before somebody changes the ClusterExtension or what the message names.",
    "kubectl edit clusterextension {name}",
  ),
  [Reason.Uninstalling]: byName(
    "It is being removed.",
    "olmv1 uninstall {name}   # waits for the end, and removes what olmv1 install made",
  ),
  [Reason.Suspended]: byName(
    "spec.suspend is set: nothing is done for it.",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"suspend":false}}'`,
  ),
  [Reason.AwaitingApproval]: byName(
    "A change waits until somebody approves it; what is installed is kept as it is.",
    "olmv1 approve {name}",
  ),
  [Reason.RequirementsNotMet]: byName("The cluster lacks what the bundle requires.", "olmv1 resolve {name} --explain"),
  [Reason.RequiredByOthers]: byName(
    "Other extensions depend on it, so it is not uninstalled before they are.",
    "kubectl annotate clusterextension {name} olm.operatorframework.io/force-uninstall=true   # uninstall it all the same",
  ),
  [Reason.ConversionNeeded]: byName(
    "Custom resources that are kept need the conversion webhook of this extension. The message names them.",
    "olmv1 uninstall {name} --crd-policy Delete   # delete the custom resources too",
    "kubectl annotate clusterextension {name} olm.operatorframework.io/drop-conversion=true   # keep them without conversion",
  ),
  [Reason.InvalidConfiguration]: byName("spec.config does not fit the bundle.", "kubectl edit clusterextension {name}"),
  [Reason.UnsatisfiedDependencies]: byName(
    "What the bundle depends on is neither installed nor served by the cluster.",
    "olmv1 resolve {name} --explain",
  ),
  [Reason.ProgressDeadlineExceeded]: byName(
    "The rollout takes longer than spec.progressDeadlineMinutes.",
    "olmv1 tree {name}",
    "olmv1 rollback {name}   # if it worked before an upgrade",
  ),
  [Reason.Deprecated]: byName("The catalog advises against it.", "olmv1 upgrade {name}"),
  [Reason.NotDeprecated]: nothingToDo("The catalog does not advise against it."),
  [Reason.DeprecationStatusUnknown]: byName("No catalog could be asked whether it is deprecated.", "kubectl get clustercatalogs"),
  [Reason.Available]: nothingToDo("The catalog is served."),
  [Reason.Unavailable]: byName("The catalog is not served, so nothing of it can be installed.", "kubectl describe clustercatalog {name}"),
  [Reason.UserSpecifiedUnavailable]: byName(
    "The catalog is not served, since spec.availabilityMode is Unavailable.",
    `kubectl patch clustercatalog {name} --type merge -p '{"spec":{"availabilityMode":"Available"}}'`,
  ),
  [Reason.Valid]: nothingToDo("The content of the catalog passes the checks."),
  [Reason.InvalidContent]: byName(
    "Errors were found in the content of the catalog; the rest of it is served.",
    "kubectl describe clustercatalog {name}",
  ),
  [Reason.IncompatibleOperatorInstalled]: byName(
    "The installed bundle does not support the next minor version of the cluster, which therefore cannot be upgraded to it.",
    "olmv1 cluster-upgrade-check",
    "olmv1 upgrade {name}",
  ),
  [Reason.InvalidMaxOpenShiftVersion]: byName(
    "The bundle says in a form that cannot be read up to which version of the cluster it works.",
    "olmv1 cluster-upgrade-check",
  ),
  [Reason.ReleasesUnreadable]: byName(
    "A release Secret of the extension cannot be read, so the cluster version that the installed bundle supports is not known.",
    "olmv1 history {name}",
    "olmv1 cluster-upgrade-check",
  ),
  [Reason.ClusterVersionUnknown]: byName(
    "The version of the cluster cannot be read, so whether the bundle fits is not known.",
    "olmv1 cluster-upgrade-check",
  ),
  [Reason.Compatible]: nothingToDo("The installed bundle does not hold up an upgrade of the cluster."),
} as const satisfies Record<Reason, Words>;

/** What a problem says more exactly than the reason of the condition. */
const PROBLEM_WORDS: Readonly<Partial<Record<string, Words>>> = {
  MissingPermissions: byName(
    "ServiceAccount {namespace}/{account} lacks permissions that the bundle needs. Nothing was changed. The controller resumes once you grant them.",
    "olmv1 upgrade {name}   # grants them if olmv1 install created the ServiceAccount",
  ),
  NamespaceNotFound: nothingToDo("A namespace does not exist. The controller resumes once you create it."),
  ServiceAccountNotFound: byName(
    "ServiceAccount {namespace}/{account} does not exist. The controller resumes once you create it with its permissions.",
    "olmv1 rbac --help   # prints it with exactly the permissions that a bundle needs",
  ),
  ServiceAccountNotSet: byName(
    "The extension names no ServiceAccount, and this controller installs nothing without one.",
    "olmv1 rbac --help   # prints a ServiceAccount with exactly the permissions that a bundle needs",
    `kubectl patch clusterextension {name} --type merge -p '{"spec":{"serviceAccount":{"name":"NAME"}}}'`,
  ),
  AmbiguousCatalogs: byName(
    "Several catalogs of the same priority offer the package.",
    "olmv1 resolve {name} --explain",
    "select one with spec.source.catalog.selector, or give one a higher spec.priority",
  ),
  BundleNotFound: byName(
    "No bundle in the selected catalogs satisfies spec.source.",
    "olmv1 resolve {name} --explain",
    "kubectl get clustercatalogs",
  ),
  CRDUpgradeUnsafe: byName(
    "The bundle's CustomResourceDefinition could lose data of custom resources or break their users.",
    "olmv1 upgrade {name} --version RANGE   # a version with a compatible definition",
    "configure spec.install.preflight.crdUpgradeSafety: docs/how-to/crd-upgrades.md",
  ),
  ImageRejected: byName("The signature policy rejects the image.", "olmv1 events {name}"),
  QuotaExceeded: byName(
    "The objects exceed a ResourceQuota. Installation resumes when quota is available.",
    "kubectl -n {namespace} describe resourcequota",
  ),
};

/** The reasons that a problem can explain more exactly: those of failures. */
const EXPLAINED_BY_PROBLEMS: ReadonlySet<string> = new Set([Reason.Retrying, Reason.Blocked]);

/**
 * Explains a condition by its reason or, for a failure, by the first Error in `status.problems` that has an explanation. A reason that is not ours
 * means what its own message says.
 */
export function explainCondition(extension: Explained, { reason }: Pick<Condition, "reason">): ConditionAdvice {
  const errors = EXPLAINED_BY_PROBLEMS.has(reason) ? (extension.status?.problems ?? []).filter(({ severity }) => severity === "Error") : [];
  const exact = errors.flatMap(({ type }) => (Object.hasOwn(PROBLEM_WORDS, type) ? (PROBLEM_WORDS[type] ?? []) : []))[0];
  return (exact ?? wordsOf(reason))(extension);
}

/** Returns what the Errors in `status.problems` say to do next, each once. */
export function nextSteps({ status }: Pick<ClusterExtension, "status">): string[] {
  return [...new Set((status?.problems ?? []).flatMap(({ severity, next }) => (severity === "Error" && next !== undefined ? [next] : [])))];
}

function wordsOf(reason: string): Words {
  return Object.hasOwn(REASON_WORDS, reason) ? REASON_WORDS[reason as Reason] : nothingToDo("");
}

/** The condition that tells most about where an extension stands: what is under way before what works, and both before their sum. */
export function mostRelevantCondition(conditions: readonly Condition[] | undefined): Condition | undefined {
  const found = (type: string): Condition | undefined => conditions?.find((condition) => condition.type === type);
  const ready = found(ConditionType.Ready);
  if (ready?.status === "True") return ready;
  const progressing = found(ConditionType.Progressing);
  if (progressing && (progressing.status !== "True" || progressing.reason !== Reason.Succeeded)) return progressing;
  return found(ConditionType.Available) ?? ready;
}
