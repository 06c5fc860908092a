import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";

/** What is waited for. */
export interface Awaited {
  /** metadata.generation that has to be dealt with. */
  readonly generation: number;
  /** Name of the bundle that has to be installed; absent: whichever. */
  readonly bundle?: string | undefined;
  /** Digest of a plan that has been approved: it is no end that this one waits. */
  readonly approved?: string | undefined;
  /** The reconcile request that was made with a change that no generation tells of, such as of annotations. */
  readonly request?: string | undefined;
}

/**
 * ready: it is there and works; approval: somebody has to approve; failed: it will not get there without a change; lacking: rights are missing, which
 * others may grant at any time; waiting: it is under way.
 */
export type RolloutVerdict =
  | { readonly kind: "ready" | "approval" | "waiting" }
  | { readonly kind: "failed" | "lacking"; readonly condition: Condition };

/** Reasons of a Progressing that is False, with which nothing goes on before somebody changes something. */
const FINAL: ReadonlySet<string> = new Set([
  Reason.Blocked,
  Reason.InvalidConfiguration,
  Reason.ProgressDeadlineExceeded,
  Reason.Suspended,
]);

/** Whether the status is about the change that is waited for. A request to look at a suspended extension is never dealt with. Pure. */
export function isLookedAt({ status }: Pick<ClusterExtension, "status">, { generation, request }: Awaited): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if ((progressing?.observedGeneration ?? -1) < generation) return false;
  return request === undefined || status?.lastHandledReconcileAt === request || progressing?.reason === Reason.Suspended;
}

/** How far an extension has come. Pure. */
export function rolloutVerdict(extension: Pick<ClusterExtension, "status">, awaited: Awaited): RolloutVerdict {
  const { status } = extension;
  const current = (type: string): Condition | undefined => {
    const found = findCondition(status?.conditions, type);
    return found && (found.observedGeneration ?? 0) >= awaited.generation ? found : undefined;
  };
  const progressing = current(ConditionType.Progressing);
  if (!progressing || !isLookedAt(extension, awaited)) return { kind: "waiting" };
  const isWanted = awaited.bundle === undefined || status?.install?.bundle.name === awaited.bundle;
  if (current(ConditionType.Ready)?.status === "True" && isWanted) return { kind: "ready" };
  const { reason } = progressing;
  if (reason === Reason.AwaitingApproval) return { kind: status?.plan?.digest === awaited.approved ? "waiting" : "approval" };
  if (progressing.status === "False" && FINAL.has(reason)) return { kind: "failed", condition: progressing };
  if (reason === Reason.Retrying && findProblem(status, "MissingPermissions")) return { kind: "lacking", condition: progressing };
  return { kind: "waiting" };
}
