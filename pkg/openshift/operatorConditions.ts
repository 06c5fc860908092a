import { boundMessage } from "../api/conditions.ts";
import { formatTime } from "../golang/time.ts";
import { compareText } from "../text/compare.ts";

/** A condition of one part of the operator, as library-go keeps it before several are folded into one. */
export interface OperatorCondition {
  /** Name of the part, then what the condition is about: "CatalogdDeploymentCatalogdControllerManagerAvailable". */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Since when the status is what it is; RFC 3339 in whole seconds. */
  readonly lastTransitionTime: string;
}

/** An operator condition as it is found now, whenever that began. */
export type NewOperatorCondition = Omit<OperatorCondition, "lastTransitionTime">;

const STATUSES: readonly unknown[] = ["True", "False", "Unknown"];

/** `found` with the times of `before`; a condition whose status is another than before, or that was not there, begins at `now`. */
export function withTimes(found: readonly NewOperatorCondition[], before: readonly OperatorCondition[], now: Date): OperatorCondition[] {
  return found.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(now);
    return { ...condition, lastTransitionTime };
  });
}

/**
 * The operator conditions kept in a ClusterOperator's status, in `extension.conditions`. What is none is left out, since anybody may have
 * written there; a time yet to come becomes `now`, so that nothing stays young for ever.
 */
export function keptConditions(status: unknown, now: Date): OperatorCondition[] {
  return listOf(membersOf(membersOf(status)["extension"])["conditions"]).flatMap((item): OperatorCondition[] => {
    const { type, status: is, reason, message, lastTransitionTime } = item;
    if (typeof type !== "string" || !isStatus(is) || typeof lastTransitionTime !== "string") return [];
    const time = Date.parse(lastTransitionTime);
    if (Number.isNaN(time)) return [];
    const since = time > now.getTime() ? formatTime(now) : lastTransitionTime;
    return [{ type, status: is, reason: textOf(reason), message: textOf(message), lastTransitionTime: since }];
  });
}

/** The members of what is a JSON object; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The objects in what is a list; none of anything else. */
export function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null).map(membersOf) : [];
}

/** The text that `value` is; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isStatus(value: unknown): value is OperatorCondition["status"] {
  return STATUSES.includes(value);
}

/** Types of a ClusterOperator's conditions, in library-go's order, each with the status that it has when all is well. */
const FOLDED = {
  Degraded: "False",
  Progressing: "False",
  Available: "True",
  Upgradeable: "True",
  EvaluationConditionsDetected: "False",
} as const;
/** Type of a condition of a ClusterOperator. */
export type FoldedType = keyof typeof FOLDED;

/** A condition of the ClusterOperator before its time is known. */
export interface FoldedCondition {
  readonly type: FoldedType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** For so long a part may be degraded before the whole is. */
const DEGRADED_INERTIA_MS = 2 * 60_000;

/**
 * The five conditions of a ClusterOperator, each folded from the operator conditions whose type ends with its name.
 * @see https://github.com/openshift/library-go/blob/ea39151514700b62cf058e829e073c38bfcb3c15/pkg/operator/status/condition.go UnionCondition
 */
export function foldConditions(conditions: readonly OperatorCondition[], now: Date): FoldedCondition[] {
  return foldedTypes().map((type) => folded(type, conditions, now));
}

/** The five types in order. */
export function foldedTypes(): FoldedType[] {
  return Object.keys(FOLDED) as FoldedType[];
}

/** Milliseconds until the first part that is degraded has been so for long enough to count; undefined when there is none to wait for. */
export function untilDegraded(conditions: readonly OperatorCondition[], now: Date): number | undefined {
  const left = conditions
    .filter((condition) => condition.type.endsWith("Degraded") && isBad("Degraded", condition) && !isElder(condition, now))
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime) + DEGRADED_INERTIA_MS + 1 - now.getTime());
  return left.length === 0 ? undefined : Math.min(...left);
}

function folded(type: FoldedType, conditions: readonly OperatorCondition[], now: Date): FoldedCondition {
  const interesting = conditions.filter((condition) => condition.type.endsWith(type));
  if (interesting.length === 0) return { type, status: "Unknown", reason: "NoData", message: "" };
  const bad = interesting.filter((condition) => isBad(type, condition)).sort((a, b) => compareText(a.type, b.type));
  const counts = type === "Degraded" ? bad.some((condition) => isElder(condition, now)) : bad.length > 0;
  if (!counts) return { type, status: FOLDED[type], reason: "AsExpected", message: messageOf(interesting) || "All is well" };
  const opposite = FOLDED[type] === "True" ? "False" : "True";
  const status = bad.some((condition) => condition.status === opposite) ? opposite : "Unknown";
  return { type, status, reason: reasonOf(type, bad), message: messageOf(bad) };
}

function isBad(type: FoldedType, condition: OperatorCondition): boolean {
  return condition.status !== FOLDED[type];
}

/** A time that cannot be read is long ago. */
function isElder({ lastTransitionTime }: OperatorCondition, now: Date): boolean {
  return !(Date.parse(lastTransitionTime) >= now.getTime() - DEGRADED_INERTIA_MS);
}

function messageOf(conditions: readonly OperatorCondition[]): string {
  const lines = conditions.flatMap(({ type, message }) =>
    message === "" ? [] : [...new Set(message.split("\n"))].map((line) => `${type}: ${line}`),
  );
  return boundMessage(lines.join("\n"));
}

function reasonOf(foldedType: FoldedType, conditions: readonly OperatorCondition[]): string {
  return conditions
    .map(({ type, reason }) => type.slice(0, -foldedType.length) + (reason === "" ? "" : `_${reason}`))
    .sort()
    .join("::");
}

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
 * @see https://github.com/openshift/library-go/blob/58bf4ca438d0acc59c52f0f2dfafbaa5500d075c/pkg/operator/deploymentcontroller/deployment_controller.go
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
