import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";

/** The expected result of a rollout. */
export interface Awaited {
  /** metadata.generation that must be reconciled. */
  readonly generation: number;
  /** Name of the bundle that must be installed; if absent, any bundle. */
  readonly bundle?: string | undefined;
  /** Digest of a plan that the user has approved, so it is not reported as awaiting approval. */
  readonly approved?: string | undefined;
  /** Whether the user has approved the permissions that the bundle needs, so they are not reported as awaiting approval. */
  readonly hasApprovedPermissions?: boolean;
  /** The reconcile request of a change that does not increase the generation, such as a changed annotation. */
  readonly request?: string | undefined;
}

/**
 * The state of a rollout. ready: the bundle is installed and available. approval: a plan awaits approval. permissionApproval: permissions await
 * approval. failed: the user must change the extension or its policy. missingPermissions: the rollout continues when they are granted. waiting: the
 * rollout is in progress.
 */
export type RolloutVerdict =
  | { readonly kind: "ready" | "approval" | "waiting" }
  | { readonly kind: "failed" | "missingPermissions" | "permissionApproval"; readonly condition: Condition };

/** Reasons of condition Progressing with status False for which the user must change the extension. */
const FINAL: ReadonlySet<string> = new Set([
  Reason.Blocked,
  Reason.InvalidConfiguration,
  Reason.ProgressDeadlineExceeded,
  Reason.Suspended,
]);

/**
 * Reports whether the status reflects the expected change. A suspended extension never handles a reconcile request.
 * Pure.
 */
export function isObserved({ status }: Pick<ClusterExtension, "status">, { generation, request }: Awaited): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if ((progressing?.observedGeneration ?? -1) < generation) return false;
  return request === undefined || status?.lastHandledReconcileAt === request || progressing?.reason === Reason.Suspended;
}

/** Returns the state of a rollout. Pure. */
export function evaluateRollout(extension: Pick<ClusterExtension, "status">, awaited: Awaited): RolloutVerdict {
  const { status } = extension;
  const current = (type: string): Condition | undefined => {
    const found = findCondition(status?.conditions, type);
    return found && (found.observedGeneration ?? 0) >= awaited.generation ? found : undefined;
  };
  const progressing = current(ConditionType.Progressing);
  if (!progressing || !isObserved(extension, awaited)) return { kind: "waiting" };
  const isExpected = awaited.bundle === undefined || status?.install?.bundle.name === awaited.bundle;
  if (current(ConditionType.Ready)?.status === "True" && isExpected) return { kind: "ready" };
  const { reason } = progressing;
  if (reason === Reason.AwaitingApproval) return { kind: status?.plan?.digest === awaited.approved ? "waiting" : "approval" };
  if (progressing.status === "False" && FINAL.has(reason)) return { kind: "failed", condition: progressing };
  if (reason === Reason.Retrying && findProblem(status, "MissingPermissions"))
    return { kind: "missingPermissions", condition: progressing };
  if (reason === Reason.Retrying && findProblem(status, "PermissionsPending") && !awaited.hasApprovedPermissions)
    return { kind: "permissionApproval", condition: progressing };
  if (reason === Reason.Retrying && findProblem(status, "PermissionsDenied")) return { kind: "failed", condition: progressing };
  return { kind: "waiting" };
}
