import { expect } from "vitest";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";

/** The statuses of kstatus for an object that exists. */
export type Kstatus = "Current" | "InProgress" | "Failed" | "Terminating";

/** The members of a status that kstatus reads. */
interface KstatusMembers {
  observedGeneration?: number;
  conditions?: Condition[];
}

/**
 * Computes the status of a custom resource with the rules of kstatus, which Flux and `kpt live` follow: deletion, generation, the first of Reconciling
 * and Stalled that is True, then Ready. An object without any of them is Current.
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/v0.37.2/pkg/kstatus/status/generic.go checkGenericProperties, checkGeneration
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/v0.37.2/pkg/kstatus/status/status.go Compute, checkReadyCondition
 */
export function computeKstatus({ metadata, status }: KubeObject): { status: Kstatus; message: string } {
  const { observedGeneration, conditions = [] } = (status ?? {}) as KstatusMembers;
  if (metadata.deletionTimestamp) return { status: "Terminating", message: "Resource scheduled for deletion" };
  const { generation } = metadata;
  if (generation !== undefined && observedGeneration !== undefined && observedGeneration !== generation)
    return { status: "InProgress", message: `generation is ${generation}, but latest observed generation is ${observedGeneration}` };
  const abnormal = conditions.find(({ type, status: is }) => (type === "Reconciling" || type === "Stalled") && is === "True");
  if (abnormal) return { status: abnormal.type === "Stalled" ? "Failed" : "InProgress", message: abnormal.message };
  const ready = conditions.find(({ type }) => type === "Ready");
  if (!ready || ready.status === "True") return { status: "Current", message: ready ? "Resource is Ready" : "Resource is current" };
  return { status: "InProgress", message: ready.message };
}

/** Ready reasons of objects that cannot progress until a user changes something. */
const FAILED_REASONS: readonly string[] = ["Blocked", "Denied", "InvalidConfiguration", "ProgressDeadlineExceeded"];

/**
 * Expects a reconciled object of this project to meet the contract of kstatus: the status and each condition name the generation that they are based on,
 * Reconciling and Stalled are only present while they are True, at most one of them, and kstatus computes Current if and only if Ready is True.
 * @returns the computed status.
 */
export function expectKstatus(object: KubeObject): Kstatus {
  const { observedGeneration, conditions = [] } = (object["status"] ?? {}) as KstatusMembers;
  const { metadata, kind } = object;
  const name = `${kind} ${metadata.name}: ${JSON.stringify(conditions)}`;
  expect(observedGeneration, name).toBe(metadata.generation ?? 0);
  for (const condition of conditions)
    expect(condition.observedGeneration, `${name} ${condition.type}`).toBeLessThanOrEqual(observedGeneration ?? 0);
  const abnormal = conditions.filter(({ type }) => type === "Reconciling" || type === "Stalled");
  expect([abnormal.length <= 1, abnormal.every(({ status }) => status === "True")], name).toEqual([true, true]);
  const computed = computeKstatus(object).status;
  if (metadata.deletionTimestamp) return computed;
  const ready = conditions.find(({ type }) => type === "Ready");
  const isFailed = FAILED_REASONS.includes(ready?.reason ?? "");
  expect(computed, name).toBe(ready?.status === "True" ? "Current" : isFailed ? "Failed" : "InProgress");
  return computed;
}

/** Whether the status is based on the current generation. */
export function isObserved({ metadata, status }: KubeObject): boolean {
  return ((status ?? {}) as KstatusMembers).observedGeneration === metadata.generation;
}
