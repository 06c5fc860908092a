import { getGroup, type JsonObject, type KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { compareText } from "../../text/compare.ts";
import { formatCount } from "../../text/lists.ts";
import {
  createHealth,
  getListAt,
  getMemberAt,
  getNumberAt,
  getTextAt,
  HEALTHY,
  type Health,
  readConditions,
  truncateText,
} from "./healthState.ts";

/** Time that a Pod may have no node before it counts as unschedulable. */
const SCHEDULE_WINDOW_MS = 15_000;
/** Waiting reasons of a normal start. */
const NORMAL_WAITS: readonly string[] = ["ContainerCreating", "PodInitializing"];

/** A problem of a Pod. `isFailing`: the Pod will not become ready without a change. `rank`: the problem with the highest rank is reported. */
export interface PodProblem {
  pod: string;
  text: string;
  isFailing: boolean;
  rank: number;
}

/** Pod: Ready or terminated. */
export function computePodHealth(object: KubeObject, now: number): Health {
  const phase = getTextAt(object, "status.phase");
  if (phase === "Succeeded" || phase === "Failed") return HEALTHY;
  const conditions = readConditions(object);
  if (phase === "Running") {
    if (conditions.some(({ type, status }) => type === "Ready" && status === "True")) return HEALTHY;
    const looping = listContainerStatuses(object).filter((status) => getWaitingReason(status) === "CrashLoopBackOff");
    if (looping.length > 0)
      return createHealth("failed", "ContainerCrashLooping", findContainerProblem(looping[0] ?? {}, "container")?.text ?? "");
    return createHealth("progressing", "PodRunningNotReady", "it is running but not ready");
  }
  if (phase === "") return createHealth("progressing", "PodNotObserved", "no kubelet has reported its status yet");
  const unscheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (unscheduled?.reason !== "Unschedulable") return createHealth("progressing", "PodPending", "it is pending");
  const created = Date.parse(object.metadata.creationTimestamp ?? "") || 0;
  if (now - created < SCHEDULE_WINDOW_MS) return createHealth("progressing", "PodNotScheduled", "it has no node yet");
  return createHealth("failed", "PodUnschedulable", `it cannot be scheduled: ${unscheduled.message}`);
}

/** Returns why a Pod is not ready, if known; undefined if it is ready, has succeeded or is being deleted. */
export function findPodProblem(pod: KubeObject, now: number): PodProblem | undefined {
  if (pod.metadata.deletionTimestamp) return undefined;
  const phase = getTextAt(pod, "status.phase");
  const conditions = readConditions(pod);
  if (phase === "Succeeded" || conditions.some(({ type, status }) => type === "Ready" && status === "True")) return undefined;
  const { name } = pod.metadata;
  const whole = computePodHealth(pod, now);
  if (whole.reason === "PodUnschedulable") return { pod: name, text: whole.message, isFailing: true, rank: 2 };
  const problems = [
    ...getListAt(pod, "status.initContainerStatuses").flatMap((status) => findContainerProblem(status, "init container") ?? []),
    ...listContainerStatuses(pod).flatMap((status) => findContainerProblem(status, "container") ?? []),
  ];
  const worst = problems.toSorted((a, b) => b.rank - a.rank)[0];
  if (worst) return { pod: name, ...worst, text: truncateText(worst.text) };
  const statusText = [getTextAt(pod, "status.reason"), getTextAt(pod, "status.message")].filter((text) => text !== "").join(": ");
  if (phase === "Failed")
    return { pod: name, text: truncateText(`it failed${statusText && ` (${statusText})`}`), isFailing: true, rank: 2 };
  return { pod: name, text: whole.message || "it is not ready", isFailing: false, rank: 0 };
}

/** What `findWorstPod` must know in addition to the Pods. */
export interface PodsContext {
  /** The live workload of the Pods. */
  readonly workload: KubeObject;
  /** Start of the release, in milliseconds since the epoch. */
  readonly releasedAt: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Returns the most explanatory Pod problem and the number of other Pods that are not ready. Pods that a rollout replaces do not count as failing.
 * Ignores failed Pods, such as evicted ones, unless the workload is a Job: Kubernetes has replaced them, and may keep them for a long time.
 * @returns undefined if all Pods are ready
 */
export function findWorstPod(pods: readonly KubeObject[], { workload, releasedAt, now }: PodsContext): PodProblem | undefined {
  const replacedBefore = isRollingOut(workload) ? Math.floor(releasedAt / 1000) * 1000 : Number.NEGATIVE_INFINITY; // the API server truncates times
  const problems = pods
    .filter((pod) => workload.kind === "Job" || getTextAt(pod, "status.phase") !== "Failed")
    .flatMap((pod) => {
      const problem = findPodProblem(pod, now);
      if (!problem) return [];
      const isReplaced = Date.parse(pod.metadata.creationTimestamp ?? "") < replacedBefore;
      const text = `Pod ${problem.pod}${isReplaced ? ", which the rollout replaces" : ""}: ${problem.text}`;
      return [{ ...problem, ...(isReplaced ? REPLACED : {}), text }];
    })
    .sort((a, b) => b.rank - a.rank || compareText(a.pod, b.pod));
  const [worst] = problems;
  if (!worst) return undefined;
  const others = problems.length - 1;
  const more = others === 0 ? "" : `, and ${formatCount(others, "more Pod")} ${others === 1 ? "is" : "are"} not ready`;
  return { ...worst, text: `${worst.text}${more}` };
}

/** Of a problem of a Pod that a rollout replaces. Problems of all other Pods have a higher rank. */
const REPLACED = { isFailing: false, rank: -1 };

function findContainerProblem(status: JsonObject, what: string): Omit<PodProblem, "pod"> | undefined {
  const container = `${what} "${getTextAt(status, "name")}"`;
  const restarts = getNumberAt(status, "restartCount");
  const restarted = restarts === 0 ? "" : `, restarted ${formatCount(restarts, "time")}`;
  const waiting = getWaitingReason(status);
  if (waiting === "CrashLoopBackOff") {
    return { text: `${container} is in CrashLoopBackOff${restarted}${formatLastEnd(status)}`, isFailing: true, rank: 3 };
  }
  if (waiting !== "" && !NORMAL_WAITS.includes(waiting)) {
    const message = getTextAt(status, "state.waiting.message");
    return { text: `${container} is in ${waiting}${message && `: ${message}`}`, isFailing: true, rank: 3 };
  }
  const exitCode = getNumberAt(status, "state.terminated.exitCode");
  if (exitCode !== 0) {
    const reason = getTextAt(status, "state.terminated.reason");
    return { text: `${container} exited with code ${exitCode}${reason && ` (${reason})`}${restarted}`, isFailing: true, rank: 2 };
  }
  const isRunning = getMemberAt(status, "state.running") !== undefined;
  if (isRunning && status["ready"] === false && what === "container")
    return { text: `${container} is running but not ready${restarted}`, isFailing: false, rank: 1 };
  return undefined;
}

function formatLastEnd(status: JsonObject): string {
  const exitCode = getNumberAt(status, "lastState.terminated.exitCode", -1);
  if (exitCode === -1) return "";
  const reason = getTextAt(status, "lastState.terminated.reason");
  return `, last exit code ${exitCode}${reason && ` (${reason})`}`;
}

function listContainerStatuses(pod: KubeObject): JsonObject[] {
  return getListAt(pod, "status.containerStatuses");
}

function getWaitingReason(status: JsonObject): string {
  return getTextAt(status, "state.waiting.reason");
}

const KINDS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "StatefulSet"]);

/** Reports whether a change of the object replaces its Pods. */
export function replacesPods({ apiVersion, kind }: KubeObject): boolean {
  return getGroup(apiVersion) === "apps" && KINDS.has(kind);
}

/**
 * Reports whether at least one Pod of a workload's latest version must be ready: the workload has more ready Pods than Pods of earlier versions.
 * @param workload as the API server returns it
 */
export function hasReadyNewPod(workload: KubeObject): boolean {
  if (!isObserved(workload)) return false;
  const { all, updated, ready } = countPods(workload);
  return updated > 0 && ready > all - updated;
}

/** Reports whether a workload has Pods of earlier versions, or its controller has not processed its latest version. */
function isRollingOut(workload: KubeObject): boolean {
  if (!replacesPods(workload)) return false;
  const { all, updated } = countPods(workload);
  return !isObserved(workload) || updated < all;
}

function isObserved({ metadata: { generation = -1 }, ...workload }: KubeObject): boolean {
  return getNumberAt(workload, "status.observedGeneration", -1) === generation;
}

/** Returns the number of Pods of a workload that `replacesPods`: all, those of its latest version, and the ready ones. */
function countPods(workload: KubeObject): { all: number; updated: number; ready: number } {
  const isDaemonSet = workload.kind === "DaemonSet";
  return {
    all: getNumberAt(workload, isDaemonSet ? "status.currentNumberScheduled" : "status.replicas"),
    updated: getNumberAt(workload, isDaemonSet ? "status.updatedNumberScheduled" : "status.updatedReplicas"),
    ready: getNumberAt(workload, isDaemonSet ? "status.numberReady" : "status.readyReplicas"),
  };
}

const WORKLOADS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job"]);

/**
 * Returns the label selector of a workload's Pods in the syntax of API queries, such as "app=a,tier in (x,y)". Undefined if the object is not a
 * workload or selects nothing.
 */
export function getPodSelector(object: KubeObject): string | undefined {
  if (!WORKLOADS.has(object.kind)) return undefined;
  const labels = getMemberAt(object, "spec.selector.matchLabels");
  const equal = isObject(labels) ? Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`) : [];
  const expressions = getListAt(object, "spec.selector.matchExpressions").map((expression) => {
    const [key, operator] = [getTextAt(expression, "key"), getTextAt(expression, "operator")];
    const values = Array.isArray(expression["values"]) ? expression["values"].map(String).join(",") : "";
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "NotIn" ? "notin" : "in"} (${values})`;
  });
  return [...equal, ...expressions].join(",") || undefined;
}
