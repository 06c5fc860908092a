import { getGroup, type ObjectRef } from "../api/k8s.ts";
import type { FieldChange } from "../release/diff.ts";
import type { PodChange } from "../release/liveOrder.ts";

/** The effect of a conversion on one object. */
export interface ConvertedObject {
  readonly ref: ObjectRef;
  /**
   * The action:
   * - keep: the extension adopts it unchanged
   * - change: the extension adopts it and changes fields
   * - create: the bundle contains it, and OLM v0 has it under another name or not at all
   * - leave: OLM v0 created it, and the bundle does not contain it
   */
  readonly action: "keep" | "change" | "create" | "leave";
  /** Changed fields, at most 50. */
  readonly changes: readonly FieldChange[];
  /** Its Pods are replaced. */
  readonly restarts: boolean;
}

/** Fields that an extension does not change: a rule of `spec.drift.ignore`. */
export interface KeptFields {
  readonly paths: readonly string[];
  readonly target: { readonly group: string; readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** Maximum number of rules of an extension, and of paths in each. */
const MAX_RULES = 16;
const POD_ANNOTATION = /^spec\.template\.metadata\.annotations(?:\.([A-Za-z_$][\w$-]*)|\["([^"]+)"\])$/;
const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);
const MARK = /^metadata\.(ownerReferences|labels\["olm\.operatorframework\.io\/|annotations\["olm\.operatorframework\.io\/owner-uid")/;
const MARKS = /^metadata\.(labels|annotations)$/;
const ONLY_OURS = /^\{("olm\.operatorframework\.io\/[^"]+":"[^"]*",?)+\}$/;

/**
 * Returns the effect on an object of the extension. Ownership marks are on all of them and do not count as changes.
 * @param pods effect on its Pods; undefined for an object that does not exist yet
 */
export function describeConvertedObject(ref: ObjectRef, fields: readonly FieldChange[], pods: PodChange | undefined): ConvertedObject {
  if (pods === undefined) return { ref, action: "create", changes: [], restarts: false };
  const changes = fields.filter((change) => !isMark(change));
  const restarts = WORKLOADS.has(ref.kind) && pods !== "none";
  return { ref, action: changes.length > 0 || restarts ? "change" : "keep", changes, restarts };
}

/**
 * Keeps the Pod annotations of objects whose Pods would only be replaced for them, and returns the rules that keep them. A bundle's annotations
 * on a Pod, such as its properties, describe the bundle and do not affect the Pod.
 */
export function keepPodAnnotations(
  objects: readonly ConvertedObject[],
  podsOf: (ref: ObjectRef) => PodChange | undefined,
): { objects: ConvertedObject[]; kept: KeptFields[] } {
  const kept: KeptFields[] = [];
  const settled = objects.map((object): ConvertedObject => {
    const ofPods = object.changes.filter(({ path }) => path.startsWith("spec.template"));
    const keys = ofPods.map(({ path }) => POD_ANNOTATION.exec(path)).map((match) => match?.[1] ?? match?.[2]);
    const known = keys.filter((key) => key !== undefined);
    if (
      !object.restarts ||
      podsOf(object.ref) !== "annotations" ||
      known.length < keys.length ||
      known.length > MAX_RULES ||
      kept.length === MAX_RULES
    )
      return object;
    const { apiVersion, kind, namespace, name } = object.ref;
    const target = { group: getGroup(apiVersion), kind, ...(namespace === undefined ? {} : { namespace }), name };
    kept.push({
      paths: known.map((key) => `/spec/template/metadata/annotations/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
      target,
    });
    const changes = object.changes.filter((change) => !ofPods.includes(change));
    return { ...object, action: changes.length > 0 ? "change" : "keep", changes, restarts: false };
  });
  return { objects: settled, kept };
}

/**
 * Returns the effect on an object of OLM v0 that the bundle does not contain. The extension adopts Secrets too: Deployments mount those with
 * serving certificates, and the new certificate provider may write them under the same names.
 */
export function describeLeftover(ref: ObjectRef): ConvertedObject {
  return { ref, action: ref.kind === "Secret" ? "keep" : "leave", changes: [], restarts: false };
}

function isMark({ path, before, after = "" }: FieldChange): boolean {
  return MARK.test(path) || (MARKS.test(path) && before === undefined && ONLY_OURS.test(after.replace(/…$/, "}")));
}
