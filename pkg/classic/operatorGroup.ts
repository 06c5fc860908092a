import { isObject } from "../api/jsonObject.ts";
import type { KubeObject } from "../api/k8s.ts";
import { objectAt, textAt, textsAt } from "./members.ts";

/** Which namespaces the operators of a namespace watch, and as whom they are installed. */
export interface OperatorGroup {
  readonly namespace: string;
  readonly name: string;
  /** Sorted; empty for all namespaces. */
  readonly targets: readonly string[];
  readonly serviceAccount?: string | undefined;
}

/** Reads an OperatorGroup. Its status tells what it targets, since a selector does not; one without status targets what its spec names. */
export function operatorGroupFrom(object: KubeObject): OperatorGroup {
  const { name, namespace = "" } = object.metadata;
  const [spec, status] = [objectAt(object, "spec"), objectAt(object, "status")];
  const stated =
    isObject(status) && Array.isArray(status["namespaces"]) ? textsAt(status, "namespaces") : textsAt(spec, "targetNamespaces");
  return {
    namespace,
    name,
    targets: stated.includes("") ? [] : stated.toSorted(),
    serviceAccount: textAt(spec, "serviceAccountName"),
  };
}
