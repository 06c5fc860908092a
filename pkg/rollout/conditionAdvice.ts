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

type Words = (extension: Named) => ConditionAdvice;
type Named = Pick<ClusterExtension, "metadata" | "spec">;

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

/** What a message says more exactly than its reason; the first that fits counts. */
const MESSAGE_WORDS: readonly { readonly pattern: RegExp; readonly words: Words }[] = [
  {
    pattern: /pre-authorization failed/,
    words: byName(
      "ServiceAccount {namespace}/{account} lacks rights that the bundle needs. Nothing was changed, and it goes on by itself once they are granted.",
      "olmv1 upgrade {name}   # grants them, where olmv1 install made the ServiceAccount",
      "or run the command of the message that prints the roles, with | kubectl apply -f - behind it",
    ),
  },
  {
    pattern: /namespace "[^"]*" does not exist|namespaces "[^"]*" not found/,
    words: byName("A namespace does not exist. It goes on by itself once it does.", "kubectl create namespace {namespace}"),
  },
  {
    pattern: /service account "[^"]*" not found|serviceaccounts? "[^"]*" (?:not found|does not exist)/i,
    words: byName(
      "ServiceAccount {namespace}/{account} does not exist. It goes on by itself once it does and has its rights.",
      "olmv1 rbac --help   # prints it with exactly the rights that a bundle needs",
    ),
  },
  {
    pattern: /in multiple catalogs with the same priority/,
    words: byName(
      "Several catalogs offer the package, and none comes before the others.",
      "olmv1 resolve {name} --explain",
      "choose one by spec.source.catalog.selector, or give one a higher spec.priority",
    ),
  },
  {
    pattern: /no bundles found for package/,
    words: byName(
      "No bundle of the catalogs fits what spec.source asks for.",
      "olmv1 resolve {name} --explain",
      "kubectl get clustercatalogs",
    ),
  },
  {
    pattern: /spec\.serviceAccount\.name is empty/,
    words: byName(
      "It names no ServiceAccount, and operator-controller of this cluster installs nothing without one.",
      "olmv1 rbac --help   # prints a ServiceAccount with exactly the rights that a bundle needs",
      `kubectl patch clusterextension {name} --type merge -p '{"spec":{"serviceAccount":{"name":"NAME"}}}'`,
    ),
  },
  {
    pattern: /validating upgrade for CRD/,
    words: byName(
      "A CustomResourceDefinition on the cluster may not be replaced by the bundle's: custom resources could be lost, or their users broken.",
      "olmv1 upgrade {name} --version RANGE   # a version with a definition that may follow",
      "spec.install.preflight.crdUpgradeSafety names what to pass over: docs/how-to/crd-upgrades.md",
    ),
  },
  {
    pattern: /Source image rejected/,
    words: byName("The signature policy does not let the image pass.", "olmv1 events {name}"),
  },
  {
    pattern: /exceeded quota/,
    words: byName(
      "A quota has no room for all objects together. It goes on by itself once there is.",
      "kubectl -n {namespace} describe resourcequota",
    ),
  },
];

/** The reasons for which a message can tell more: those of something that did not come right. */
const TOLD_BY_MESSAGE: ReadonlySet<string> = new Set([Reason.Retrying, Reason.Blocked]);

/** A condition in plain words. A reason that is none of ours means what its own message says. */
export function explainCondition(extension: Named, { reason, message }: Pick<Condition, "reason" | "message">): ConditionAdvice {
  const exact = TOLD_BY_MESSAGE.has(reason) ? MESSAGE_WORDS.find(({ pattern }) => pattern.test(message)) : undefined;
  const { words } = exact ?? { words: wordsOf(reason) };
  return words(extension);
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
