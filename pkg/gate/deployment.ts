import { listOf, membersOf, type NewOperatorCondition, type OperatorCondition } from "./operatorCondition.ts";

/** One Deployment of ours and what is found of it. */
export interface WatchedDeployment {
  /** Name of the component, such as "operator-controller". */
  readonly component: string;
  /** Name of the Deployment. */
  readonly name: string;
  /** The Deployment as it stands on the wire; undefined when there is none. */
  readonly deployment: unknown;
}

/** A rollout that takes longer has failed. */
export const ROLLOUT_LIMIT_MS = 15 * 60_000;

/**
 * The name that cluster-olm-operator's controller of an object has: component, kind and name. Component and name stand without "-", each of
 * their words with its first letter large and the others small, so that OperatorController becomes Operatorcontroller.
 */
export function controllerName(component: string, kind: string, name: string): string {
  return `${titled(component)}${kind}${titled(name)}`;
}

/**
 * Conditions Available, Progressing, Degraded and Upgradeable of one Deployment, as library-go's deployment controller has them. library-go
 * would make a Deployment that is missing; here that is somebody else's work, so it is not available and an error.
 * @param before the operator conditions of the last time; they tell since when a rollout is under way.
 * @see https://github.com/openshift/library-go/blob/master/pkg/operator/deploymentcontroller/deployment_controller.go
 */
export function deploymentConditions(
  { component, name, deployment }: WatchedDeployment,
  before: readonly OperatorCondition[],
  now: Date,
): NewOperatorCondition[] {
  const controller = controllerName(component.replaceAll("-", ""), "Deployment", name);
  const since = before.find(({ type, status }) => type === `${controller}Progressing` && status === "True")?.lastTransitionTime;
  const rollout = deployment === undefined ? undefined : rolloutIn(deployment);
  const error = deployment === undefined ? `deployments.apps "${name}" not found` : rollout && tooLong(since, now);
  return [
    availableCondition(controller, deployment),
    rollout === undefined
      ? { type: `${controller}Progressing`, status: "False", reason: "AsExpected", message: "Deployment is not progressing" }
      : { type: `${controller}Progressing`, status: "True", reason: "Deploying", message: rollout },
    error === undefined
      ? { type: `${controller}Degraded`, status: "False", reason: "AsExpected", message: "" }
      : { type: `${controller}Degraded`, status: "True", reason: "SyncError", message: error },
    { type: `${controller}Upgradeable`, status: "True", reason: "", message: "" },
  ];
}

function availableCondition(controller: string, deployment: unknown): NewOperatorCondition {
  const type = `${controller}Available`;
  if (numberAt(deployment, "status", "availableReplicas") > 0)
    return { type, status: "True", reason: "AsExpected", message: "Deployment is available" };
  return { type, status: "False", reason: "Deploying", message: "Waiting for Deployment" };
}

/** What a rollout under way waits for. Pods that are lost after a rollout has finished do not begin another one. */
function rolloutIn(deployment: unknown): string | undefined {
  const progressing = listOf(membersOf(membersOf(deployment)["status"])["conditions"]).find(({ type }) => type === "Progressing");
  const wanted = numberAt(deployment, "spec", "replicas");
  if (numberAt(deployment, "metadata", "generation") !== numberAt(deployment, "status", "observedGeneration"))
    return "Waiting for Deployment to act on changes";
  if (progressing?.["status"] === "True" && progressing["reason"] === "NewReplicaSetAvailable") return undefined;
  if (numberAt(deployment, "status", "unavailableReplicas") > 0) return "Waiting for Deployment to deploy pods";
  if (numberAt(deployment, "status", "updatedReplicas") < wanted) return "Waiting for Deployment to update pods";
  if (numberAt(deployment, "status", "availableReplicas") < wanted) return "Waiting for Deployment to deploy pods";
  return undefined;
}

function tooLong(since: string | undefined, now: Date): string | undefined {
  if (since === undefined || now.getTime() <= Date.parse(since) + ROLLOUT_LIMIT_MS) return undefined;
  return "Deployment was progressing too long";
}

function numberAt(deployment: unknown, part: string, member: string): number {
  const value = membersOf(membersOf(deployment)[part])[member];
  return typeof value === "number" ? value : 0;
}

function titled(text: string): string {
  return text
    .split("-")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join("");
}
