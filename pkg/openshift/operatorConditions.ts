import { boundMessage } from "../api/conditions.ts";
import { formatTime } from "../golang/time.ts";
import { compareText } from "../text/compare.ts";

/** A condition of one operator component. library-go folds several of them into one ClusterOperator condition. */
export interface OperatorCondition {
  /** Component name followed by the ClusterOperator condition type, such as "CatalogdDeploymentCatalogdControllerManagerAvailable". */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Time of the last status change, in RFC 3339 format with whole seconds. */
  readonly lastTransitionTime: string;
}

/** An operator condition without its transition time. */
export type NewOperatorCondition = Omit<OperatorCondition, "lastTransitionTime">;

const STATUSES: readonly unknown[] = ["True", "False", "Unknown"];

/** Adds transition times to `found`: the time in `before` if the status is the same, otherwise `now`. */
export function addTransitionTimes(
  found: readonly NewOperatorCondition[],
  before: readonly OperatorCondition[],
  now: Date,
): OperatorCondition[] {
  return found.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(now);
    return { ...condition, lastTransitionTime };
  });
}

/**
 * Returns the operator conditions in a ClusterOperator's status, from `extension.conditions`. Skips malformed ones, because any client can write
 * them. Replaces a time in the future by `now`; otherwise the condition would never become old enough to count.
 */
export function readKeptConditions(status: unknown, now: Date): OperatorCondition[] {
  return readObjects(readMembers(readMembers(status)["extension"])["conditions"]).flatMap((item): OperatorCondition[] => {
    const { type, status: is, reason, message, lastTransitionTime } = item;
    if (typeof type !== "string" || !isStatus(is) || typeof lastTransitionTime !== "string") return [];
    const time = Date.parse(lastTransitionTime);
    if (Number.isNaN(time)) return [];
    const since = time > now.getTime() ? formatTime(now) : lastTransitionTime;
    return [{ type, status: is, reason: readText(reason), message: readText(message), lastTransitionTime: since }];
  });
}

/** Returns the members of a JSON object, or an empty object for any other value. */
export function readMembers(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Returns the objects in a list, or an empty list for any other value. */
export function readObjects(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null).map(readMembers) : [];
}

/** Returns the value if it is a string, otherwise an empty string. */
export function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isStatus(value: unknown): value is OperatorCondition["status"] {
  return STATUSES.includes(value);
}

/** ClusterOperator condition types in library-go's order, with their desired status. */
const FOLDED = {
  Degraded: "False",
  Progressing: "False",
  Available: "True",
  Upgradeable: "True",
  EvaluationConditionsDetected: "False",
} as const;
/** A ClusterOperator condition type. */
export type FoldedType = keyof typeof FOLDED;

/** A ClusterOperator condition without its transition time. */
export interface FoldedCondition {
  readonly type: FoldedType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** How long a component must be degraded before the ClusterOperator becomes degraded, in milliseconds. */
const DEGRADED_INERTIA_MS = 2 * 60_000;

/**
 * Returns the five conditions of a ClusterOperator, each folded from the operator conditions whose type ends with its
 * name.
 * @see
 * https://github.com/openshift/library-go/blob/ea39151514700b62cf058e829e073c38bfcb3c15/pkg/operator/status/condition.go
 * UnionCondition
 */
export function foldConditions(conditions: readonly OperatorCondition[], now: Date): FoldedCondition[] {
  return listFoldedTypes().map((type) => foldCondition(type, conditions, now));
}

/** Returns the five ClusterOperator condition types in library-go's order. */
export function listFoldedTypes(): FoldedType[] {
  return Object.keys(FOLDED) as FoldedType[];
}

/** Returns the time in milliseconds until the first degraded component makes the ClusterOperator degraded; undefined if there is none. */
export function computeMsUntilDegraded(conditions: readonly OperatorCondition[], now: Date): number | undefined {
  const left = conditions
    .filter((condition) => condition.type.endsWith("Degraded") && isBad("Degraded", condition) && !isOld(condition, now))
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime) + DEGRADED_INERTIA_MS + 1 - now.getTime());
  return left.length === 0 ? undefined : Math.min(...left);
}

function foldCondition(type: FoldedType, conditions: readonly OperatorCondition[], now: Date): FoldedCondition {
  const interesting = conditions.filter((condition) => condition.type.endsWith(type));
  if (interesting.length === 0) return { type, status: "Unknown", reason: "NoData", message: "" };
  const bad = interesting.filter((condition) => isBad(type, condition)).sort((a, b) => compareText(a.type, b.type));
  const counts = type === "Degraded" ? bad.some((condition) => isOld(condition, now)) : bad.length > 0;
  if (!counts) return { type, status: FOLDED[type], reason: "AsExpected", message: formatMessage(interesting) || "All is well" };
  const opposite = FOLDED[type] === "True" ? "False" : "True";
  const status = bad.some((condition) => condition.status === opposite) ? opposite : "Unknown";
  return { type, status, reason: formatReason(type, bad), message: formatMessage(bad) };
}

function isBad(type: FoldedType, condition: OperatorCondition): boolean {
  return condition.status !== FOLDED[type];
}

/** Reports whether a condition is older than `DEGRADED_INERTIA_MS`; true for a malformed time. */
function isOld({ lastTransitionTime }: OperatorCondition, now: Date): boolean {
  return !(Date.parse(lastTransitionTime) >= now.getTime() - DEGRADED_INERTIA_MS);
}

function formatMessage(conditions: readonly OperatorCondition[]): string {
  const lines = conditions.flatMap(({ type, message }) =>
    message === "" ? [] : [...new Set(message.split("\n"))].map((line) => `${type}: ${line}`),
  );
  return boundMessage(lines.join("\n"));
}

function formatReason(foldedType: FoldedType, conditions: readonly OperatorCondition[]): string {
  return conditions
    .map(({ type, reason }) => type.slice(0, -foldedType.length) + (reason === "" ? "" : `_${reason}`))
    .sort()
    .join("::");
}

/** A Deployment of OLM. */
export interface WatchedDeployment {
  /** Name of the component, such as "operator-controller". */
  readonly component: string;
  /** Name of the Deployment. */
  readonly name: string;
  /** The Deployment as read from the API server; undefined if it does not exist. */
  readonly deployment: unknown;
}

/** Maximum duration of a rollout; a longer one has failed. */
export const ROLLOUT_LIMIT_MS = 15 * 60_000;

/**
 * Returns the name that cluster-olm-operator gives to its controller for an object: component, kind and name. Hyphens are removed from component and
 * name, and only the first letter of each word is upper case: OperatorController becomes Operatorcontroller.
 */
export function formatControllerName(component: string, kind: string, name: string): string {
  return `${toTitleCase(component)}${kind}${toTitleCase(name)}`;
}

/**
 * Returns conditions Available, Progressing, Degraded and Upgradeable of one Deployment, like library-go's deployment controller. library-go would
 * create a missing Deployment; this function reports it as unavailable and as an error.
 * @param before the previous operator conditions, whose transition time is the start of a rollout.
 * @see
 * https://github.com/openshift/library-go/blob/58bf4ca438d0acc59c52f0f2dfafbaa5500d075c/pkg/operator/deploymentcontroller/deployment_controller.go
 */
export function buildDeploymentConditions(
  { component, name, deployment }: WatchedDeployment,
  before: readonly OperatorCondition[],
  now: Date,
): NewOperatorCondition[] {
  const controller = formatControllerName(component.replaceAll("-", ""), "Deployment", name);
  const since = before.find(({ type, status }) => type === `${controller}Progressing` && status === "True")?.lastTransitionTime;
  const rollout = deployment === undefined ? undefined : describeRollout(deployment);
  const error = deployment === undefined ? `deployments.apps "${name}" not found` : rollout && describeOverdue(since, now);
  return [
    buildAvailableCondition(controller, deployment),
    rollout === undefined
      ? { type: `${controller}Progressing`, status: "False", reason: "AsExpected", message: "Deployment is not progressing" }
      : { type: `${controller}Progressing`, status: "True", reason: "Deploying", message: rollout },
    error === undefined
      ? { type: `${controller}Degraded`, status: "False", reason: "AsExpected", message: "" }
      : { type: `${controller}Degraded`, status: "True", reason: "SyncError", message: error },
    { type: `${controller}Upgradeable`, status: "True", reason: "", message: "" },
  ];
}

function buildAvailableCondition(controller: string, deployment: unknown): NewOperatorCondition {
  const type = `${controller}Available`;
  if (readNumber(deployment, "status", "availableReplicas") > 0)
    return { type, status: "True", reason: "AsExpected", message: "Deployment is available" };
  return { type, status: "False", reason: "Deploying", message: "Waiting for Deployment" };
}

/** Returns a message about the rollout in progress; undefined if there is none. Losing Pods after a rollout does not count as a new rollout. */
function describeRollout(deployment: unknown): string | undefined {
  const progressing = readObjects(readMembers(readMembers(deployment)["status"])["conditions"]).find(({ type }) => type === "Progressing");
  const desired = readNumber(deployment, "spec", "replicas");
  if (readNumber(deployment, "metadata", "generation") !== readNumber(deployment, "status", "observedGeneration"))
    return "Waiting for Deployment to act on changes";
  if (progressing?.["status"] === "True" && progressing["reason"] === "NewReplicaSetAvailable") return undefined;
  if (readNumber(deployment, "status", "unavailableReplicas") > 0) return "Waiting for Deployment to deploy pods";
  if (readNumber(deployment, "status", "updatedReplicas") < desired) return "Waiting for Deployment to update pods";
  if (readNumber(deployment, "status", "availableReplicas") < desired) return "Waiting for Deployment to deploy pods";
  return undefined;
}

function describeOverdue(since: string | undefined, now: Date): string | undefined {
  if (since === undefined || now.getTime() <= Date.parse(since) + ROLLOUT_LIMIT_MS) return undefined;
  return "Deployment was progressing too long";
}

function readNumber(deployment: unknown, part: string, member: string): number {
  const value = readMembers(readMembers(deployment)[part])[member];
  return typeof value === "number" ? value : 0;
}

function toTitleCase(text: string): string {
  return text
    .split("-")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join("");
}
