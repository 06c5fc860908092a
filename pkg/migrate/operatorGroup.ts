import type { KubeObject } from "../api/k8s.ts";
import { getNonEmptyText, getObjectAt, getTextsAt, isObject } from "../golang/members.ts";

/** The watched namespaces and the installer of the operators in a namespace. */
export interface OperatorGroup {
  readonly namespace: string;
  readonly name: string;
  /** Sorted; empty for all namespaces. */
  readonly targets: readonly string[];
  /** False if the OperatorGroup selects namespaces by label and its status does not list them. */
  readonly isSettled: boolean;
  readonly serviceAccount?: string | undefined;
}

/**
 * Parses an OperatorGroup. Reads target namespaces from the status, because a selector does not list them; without a status, reads them from the
 * spec.
 */
export function parseOperatorGroup(object: KubeObject): OperatorGroup {
  const { name, namespace = "" } = object.metadata;
  const [spec, status] = [getObjectAt(object, "spec"), getObjectAt(object, "status")];
  const known = getTextsAt(status, "namespaces");
  const stated = known.length > 0 ? known : getTextsAt(spec, "targetNamespaces");
  return {
    namespace,
    name,
    targets: normalizeTargets(stated),
    isSettled: stated.length > 0 || !selects(spec["selector"]),
    serviceAccount: getNonEmptyText(spec, "serviceAccountName"),
  };
}

/** Normalizes namespaces as OLM v0 lists them: sorted, without duplicates, and empty if one of them means all namespaces. */
export function normalizeTargets(listed: readonly string[]): string[] {
  return listed.includes("") ? [] : [...new Set(listed)].toSorted();
}

/** Reports whether a selector restricts namespaces. An empty selector selects all namespaces. */
function selects(selector: unknown): boolean {
  return (
    isObject(selector) &&
    Object.values(selector).some((terms) => typeof terms === "object" && terms !== null && Object.keys(terms).length > 0)
  );
}
