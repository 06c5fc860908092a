import type { KubeObject } from "../api/k8s.ts";
import { isObject, nonEmptyText, objectAt, textsAt } from "../golang/members.ts";

/** Which namespaces the operators of a namespace watch, and as whom they are installed. */
export interface OperatorGroup {
  readonly namespace: string;
  readonly name: string;
  /** Sorted; empty for all namespaces. */
  readonly targets: readonly string[];
  /** False where it selects namespaces by labels and its status does not name them. */
  readonly isSettled: boolean;
  readonly serviceAccount?: string | undefined;
}

/** Reads an OperatorGroup. Its status tells what it targets, since a selector does not; one without status targets what its spec names. */
export function operatorGroupFrom(object: KubeObject): OperatorGroup {
  const { name, namespace = "" } = object.metadata;
  const [spec, status] = [objectAt(object, "spec"), objectAt(object, "status")];
  const known = textsAt(status, "namespaces");
  const stated = known.length > 0 ? known : textsAt(spec, "targetNamespaces");
  return {
    namespace,
    name,
    targets: targetsOf(stated),
    isSettled: stated.length > 0 || !selects(spec["selector"]),
    serviceAccount: nonEmptyText(spec, "serviceAccountName"),
  };
}

/** Namespaces as OLM classic lists them: sorted, once each, and empty where one of them stands for all. */
export function targetsOf(listed: readonly string[]): string[] {
  return listed.includes("") ? [] : [...new Set(listed)].toSorted();
}

/** An empty selector stands for all namespaces. */
function selects(selector: unknown): boolean {
  return (
    isObject(selector) &&
    Object.values(selector).some((terms) => typeof terms === "object" && terms !== null && Object.keys(terms).length > 0)
  );
}
