import { EXTENSION_NAME_MAX } from "../api/constants.ts";
import type { EligibilityCheck, EligibilityFinding, EligibilityInput } from "./eligibilityInput.ts";
import type { Subscription } from "./subscription.ts";

const SETTLED: ReadonlySet<string> = new Set(["AtLatestKnown", "UpgradePending"]);
/** Phases of an inactive InstallPlan. */
const IDLE_PLANS: ReadonlySet<string> = new Set(["RequiresApproval", "Failed"]);
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
/** Checks whether the Subscription and its state in OLM v0 allow a conversion. All findings are reported. */
export const SUBSCRIPTION_BLOCKS = {
  NotInstalled: (subscription, { csv, planPhase }) => {
    const { name, namespace, installedCsv, state, troubles } = subscription;
    if (installedCsv === undefined) {
      const reported = troubles.length === 0 ? "" : `. OLM v0 reports: ${troubles.join("; ")}`;
      const phase = planPhase === undefined ? "" : `, InstallPlan "${subscription.plan ?? ""}" in phase ${planPhase}`;
      return {
        text: `the Subscription has not installed anything (state ${state ?? "unknown"}${phase})${reported}`,
        next: suggestInstallation(subscription, planPhase),
      };
    }
    return csv
      ? undefined
      : {
          text: `the installed ClusterServiceVersion "${installedCsv}" does not exist in namespace "${namespace}"`,
          next: `if the operator is no longer needed, delete the Subscription: kubectl delete subscription.operators.coreos.com ${name} -n ${namespace}; otherwise create a ClusterExtension afterwards, which adopts the objects that remain`,
        };
  },
  NotSettled: findPendingChange,
  OperatorGroupUnclear: ({ namespace }, { csv, groups }) => {
    const [group, ...others] = groups;
    if (!csv) return undefined;
    if (!group || others.length > 0)
      return {
        text: `namespace "${namespace}" has ${group ? `${groups.length} OperatorGroups` : "no OperatorGroup"}, so the watched namespaces of the operator are unknown`,
        next: "keep exactly one OperatorGroup in the namespace",
      };
    if (!group.isSettled)
      return {
        text: `OperatorGroup "${group.name}" selects namespaces by label, but its status lists no namespaces`,
        next: "wait until OLM v0 updates the status, or list the namespaces in spec.targetNamespaces",
      };
    return csv.targets === undefined || csv.targets.join() === group.targets.join()
      ? undefined
      : {
          text: `the operator watches ${watched(csv.targets)} (annotation olm.targetNamespaces), but OperatorGroup "${group.name}" targets ${watched(group.targets)}`,
          next: "wait until OLM v0 updates the ClusterServiceVersion",
        };
  },
  ConfigInvalid: (_, { configFault }) =>
    configFault === undefined
      ? undefined
      : {
          text: `spec.config of the Subscription cannot be converted to a ClusterExtension configuration: ${configFault}`,
          next: "correct spec.config of the Subscription",
        },
  InvalidName: (_, { extensionName }) =>
    extensionName.length <= EXTENSION_NAME_MAX && NAME.test(extensionName)
      ? undefined
      : {
          text: `invalid ClusterExtension name "${extensionName}": must consist of at most ${EXTENSION_NAME_MAX} lowercase letters, digits, '-' and '.'`,
          next: "choose another name with --name",
        },
} as const satisfies Record<string, EligibilityCheck>;

export type SubscriptionBlock = keyof typeof SUBSCRIPTION_BLOCKS;

/** Returns how to complete the first installation of a Subscription, or to give it up. */
function suggestInstallation({ name, namespace, plan }: Subscription, planPhase: string | undefined): string {
  const remove = `delete the Subscription and create a ClusterExtension: kubectl delete subscription.operators.coreos.com ${name} -n ${namespace}`;
  if (plan !== undefined && planPhase === "RequiresApproval")
    return `approve the InstallPlan: kubectl patch installplan ${plan} -n ${namespace} --type merge -p '{"spec":{"approved":true}}'; or ${remove}`;
  if (plan !== undefined && planPhase === "Failed")
    return `read the cause with kubectl describe installplan ${plan} -n ${namespace}, then ${remove}`;
  return `wait for the installation; if it never succeeds, ${remove}`;
}

/** Returns a finding if the installed version may change at any moment, or does not run. */
function findPendingChange(subscription: Subscription, { csv, csvs, planPhase }: EligibilityInput): EligibilityFinding | undefined {
  const { namespace, state, isDeleted, installedCsv, currentCsv } = subscription;
  const wait = `wait until OLM v0 has completed the change; to follow it, run kubectl get csv,subscription.operators.coreos.com,installplan -n ${namespace}`;
  if (isDeleted) return { text: "the Subscription is being deleted", next: "wait until it is deleted, then run the check again" };
  if (!csv) return undefined;
  if (csv.isDeleted)
    return { text: `ClusterServiceVersion "${csv.name}" is being deleted`, next: "wait until it is deleted, then run the check again" };
  if (csv.phase !== "Succeeded") {
    const why = csv.problem === undefined ? "" : `: ${csv.problem}`;
    const repair = `correct the cause, so that OLM v0 reports phase Succeeded: kubectl describe csv ${csv.name} -n ${namespace}`;
    return {
      text: `ClusterServiceVersion "${csv.name}" is in phase ${csv.phase || "(none)"}, not Succeeded${why}`,
      next: STALLED.has(csv.phase) ? repair : wait,
    };
  }
  const newer = csvs.find(({ namespace: other, replaces }) => other === csv.namespace && replaces === csv.name);
  if (newer) {
    const repair = `correct the cause: kubectl describe csv ${newer.name} -n ${namespace}`;
    return {
      text: `ClusterServiceVersion "${newer.name}" in phase ${newer.phase || "(none)"} is replacing "${csv.name}"${newer.problem === undefined ? "" : `: ${newer.problem}`}`,
      next: STALLED.has(newer.phase) ? repair : wait,
    };
  }
  const upgrade = currentCsv !== undefined && currentCsv !== installedCsv ? currentCsv : undefined;
  if (state !== undefined && !SETTLED.has(state))
    return {
      text: `the Subscription is in state ${state}, not AtLatestKnown or UpgradePending${upgrade === undefined ? "" : `, an upgrade to "${upgrade}" is in progress`}`,
      next: wait,
    };
  if (upgrade === undefined || isIdle(subscription, planPhase)) return undefined;
  return {
    text: `an upgrade to "${upgrade}" is in progress${planPhase === undefined ? "" : `: its InstallPlan is in phase ${planPhase}`}`,
    next: wait,
  };
}

/** Phases that usually need a correction by the user. */
const STALLED: ReadonlySet<string> = new Set(["Failed", "Pending", "Unknown"]);

/**
 * Reports whether an upgrade waits for approval or has failed, according to the InstallPlan. Without an InstallPlan, uses the Subscription's
 * conditions and approval mode.
 */
function isIdle({ approval, needsApproval }: Subscription, planPhase: string | undefined): boolean {
  return planPhase === undefined ? needsApproval || approval === "Manual" : IDLE_PLANS.has(planPhase);
}

function watched(targets: readonly string[]): string {
  return targets.length === 0 ? "all namespaces" : targets.join(", ");
}
