import { EXTENSION_NAME_MAX } from "../../api/constants.ts";
import type { Subscription } from "../subscription.ts";
import type { Check } from "./check.ts";
import type { Surroundings } from "./surroundings.ts";

const SETTLED: ReadonlySet<string> = new Set(["AtLatestKnown", "UpgradePending"]);
/** Phases of an InstallPlan in which nothing is being done. */
const IDLE_PLANS: ReadonlySet<string> = new Set(["RequiresApproval", "Failed"]);
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const WAIT =
  "wait until the operator is installed and healthy: kubectl get csv,subscription,installplan in its namespace tells why it is not";

/** The Subscription stands against it, or what OLM classic makes of it; all that hold are told. */
export const SUBSCRIPTION_BLOCKS = {
  GeneratedAsDependency: ({ generatedBy }) =>
    generatedBy === undefined
      ? undefined
      : {
          text: `OLM made this Subscription for another operator that depends on the package (annotation olm.generated-by: ${generatedBy})`,
          next: "convert is for operators that somebody subscribed to: remove the operator that depends on it first, or subscribe to the package yourself",
        },
  NotInstalled: ({ installedCsv, state, namespace }, { csv }) => {
    if (installedCsv === undefined)
      return {
        text: `nothing is installed by it (state ${state ?? "unknown"})`,
        next: "wait for the installation or approve its InstallPlan; a Subscription that never installed anything can simply be deleted",
      };
    return csv
      ? undefined
      : {
          text: `ClusterServiceVersion "${installedCsv}", which it says is installed, does not exist in namespace "${namespace}"`,
          next: "let OLM repair the Subscription, or delete it",
        };
  },
  NotSettled: (subscription, around) => {
    const text = unsettled(subscription, around);
    return text === undefined ? undefined : { text, next: WAIT };
  },
  OperatorGroupUnclear: ({ namespace }, { csv, groups }) => {
    const [group, ...others] = groups;
    if (!csv) return undefined;
    if (!group || others.length > 0)
      return {
        text: `namespace "${namespace}" has ${group ? `${groups.length} OperatorGroups` : "no OperatorGroup"}, so that it is not known which namespaces the operator watches`,
        next: "leave exactly one OperatorGroup there",
      };
    if (!group.isSettled)
      return {
        text: `OperatorGroup "${group.name}" selects namespaces by their labels, and its status names none`,
        next: "let OLM classic bring its status up to date, or name the namespaces in spec.targetNamespaces",
      };
    return csv.targets === undefined || csv.targets.join() === group.targets.join()
      ? undefined
      : {
          text: `the operator was told to watch ${watched(csv.targets)} (annotation olm.targetNamespaces), and OperatorGroup "${group.name}" targets ${watched(group.targets)}`,
          next: "let OLM classic bring the ClusterServiceVersion up to date first",
        };
  },
  ConfigInvalid: (_, { configFault }) =>
    configFault === undefined
      ? undefined
      : {
          text: `spec.config of the Subscription cannot become the configuration of an extension: ${configFault}`,
          next: "correct spec.config of the Subscription",
        },
  InvalidName: (_, { extensionName }) =>
    extensionName.length <= EXTENSION_NAME_MAX && NAME.test(extensionName)
      ? undefined
      : {
          text: `"${extensionName}" cannot be the name of a ClusterExtension, which has at most ${EXTENSION_NAME_MAX} lower case letters, digits, - and .`,
          next: "give it another one with --name",
        },
} as const satisfies Record<string, Check>;

export type SubscriptionBlock = keyof typeof SUBSCRIPTION_BLOCKS;

/** Why what is installed may change by itself in the next moment; undefined where it does not. */
function unsettled(subscription: Subscription, { csv, csvs, planPhase }: Surroundings): string | undefined {
  const { state, isDeleted, installedCsv, currentCsv } = subscription;
  if (isDeleted) return "the Subscription is being deleted";
  if (!csv) return undefined;
  if (csv.isDeleted) return `ClusterServiceVersion "${csv.name}" is being deleted`;
  if (csv.phase !== "Succeeded") return `ClusterServiceVersion "${csv.name}" is in phase ${csv.phase || "(none)"}, not Succeeded`;
  const newer = csvs.find(({ namespace, replaces }) => namespace === csv.namespace && replaces === csv.name);
  if (newer) return `ClusterServiceVersion "${newer.name}" in phase ${newer.phase || "(none)"} is taking the place of "${csv.name}"`;
  const upgrade = currentCsv !== undefined && currentCsv !== installedCsv ? currentCsv : undefined;
  if (state !== undefined && !SETTLED.has(state))
    return `the Subscription is in state ${state}, not AtLatestKnown or UpgradePending${upgrade === undefined ? "" : `, an upgrade to "${upgrade}" is going on`}`;
  if (upgrade === undefined || isIdle(subscription, planPhase)) return undefined;
  return `an upgrade to "${upgrade}" is going on${planPhase === undefined ? "" : `: its InstallPlan is in phase ${planPhase}`}`;
}

/** Whether an upgrade waits for somebody. The InstallPlan knows it; without one the Subscription's conditions do, or that it needs approval. */
function isIdle({ approval, needsApproval }: Subscription, planPhase: string | undefined): boolean {
  return planPhase === undefined ? needsApproval || approval === "Manual" : IDLE_PLANS.has(planPhase);
}

function watched(targets: readonly string[]): string {
  return targets.length === 0 ? "all namespaces" : targets.join(", ");
}
