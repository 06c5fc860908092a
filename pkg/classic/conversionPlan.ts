import type { ObjectRef } from "../api/k8s.ts";
import type { FieldChange } from "../release/diff.ts";

/** What becomes of one object in a conversion. */
export interface ConvertedObject {
  readonly ref: ObjectRef;
  /**
   * keep: the extension takes it as it is; change: it takes it, and fields of it change; create: the bundle has it under this name and OLM
   * classic had it under another, or not at all; leave: OLM classic made it, and the bundle has no use for it.
   */
  readonly action: "keep" | "change" | "create" | "leave";
  /** Fields of a change, at most 50. */
  readonly changes: readonly FieldChange[];
  /** Its Pods are made anew. */
  readonly restarts: boolean;
}

const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);
const MARK = /^metadata\.(ownerReferences|labels\["olm\.operatorframework\.io\/|annotations\["olm\.operatorframework\.io\/owner-uid")/;
const MARKS = /^metadata\.(labels|annotations)$/;
const ONLY_OURS = /^\{("olm\.operatorframework\.io\/[^"]+":"[^"]*",?)+\}$/;

/**
 * What becomes of an object that the extension will hold: marks of who owns it are on all of them, and no change.
 * @param exists whether it is there now.
 */
export function convertedObject(ref: ObjectRef, exists: boolean, fields: readonly FieldChange[]): ConvertedObject {
  if (!exists) return { ref, action: "create", changes: [], restarts: false };
  const changes = fields.filter((change) => !isMark(change));
  const restarts = WORKLOADS.has(ref.kind) && changes.some(({ path }) => path.startsWith("spec.template"));
  return { ref, action: changes.length > 0 ? "change" : "keep", changes, restarts };
}

/**
 * What becomes of an object that OLM classic made and the bundle does not hold. Secrets go over to the extension with the rest: those of serving
 * certificates are mounted by the Deployments, and whoever provides certificates from now on may write them under the same names.
 */
export function leftBehind(ref: ObjectRef): ConvertedObject {
  return { ref, action: ref.kind === "Secret" ? "keep" : "leave", changes: [], restarts: false };
}

function isMark({ path, before, after = "" }: FieldChange): boolean {
  return MARK.test(path) || (MARKS.test(path) && before === undefined && ONLY_OURS.test(after.replace(/…$/, "}")));
}
