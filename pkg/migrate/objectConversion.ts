import { getGroup, type ObjectRef } from "../api/k8s.ts";
import type { FieldChange } from "../release/diff.ts";
import { isSecret } from "../release/identity.ts";
import type { PodChange } from "../release/liveOrder.ts";

/** The effect of a conversion on one object. */
export interface ConvertedObject {
  readonly ref: ObjectRef;
  /**
   * The action:
   * - keep: the extension adopts the object unchanged
   * - change: the extension adopts the object and changes fields
   * - create: the extension creates the object; OLM v0 created it with another name or not at all
   * - leave: OLM v0 created the object, and the bundle does not contain it
   */
  readonly action: "keep" | "change" | "create" | "leave";
  /** Changed fields, at most 50. */
  readonly changes: readonly FieldChange[];
  /** Whether the Pods of the object are replaced. */
  readonly restarts: boolean;
}

/** A `spec.drift.ignore` rule: fields that the extension does not change. */
export interface KeptFields {
  readonly paths: readonly string[];
  readonly target: { readonly group: string; readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** Maximum number of rules per extension, and of paths per rule. */
const MAX_RULES = 16;
const POD_ANNOTATION = /^spec\.template\.metadata\.annotations(?:\.([A-Za-z_$][\w$-]*)|\["([^"]+)"\])$/;
const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);
const MARK = /^metadata\.(ownerReferences|labels\["olm\.operatorframework\.io\/|annotations\["olm\.operatorframework\.io\/owner-uid")/;
const MARKS = /^metadata\.(labels|annotations)$/;
const ONLY_OURS = /^\{("olm\.operatorframework\.io\/[^"]+":"[^"]*",?)+\}$/;

/**
 * Returns the effect on an object of the extension. Ignores changes of ownership marks, because all adopted objects get these.
 * @param pods effect on the Pods of the object; undefined if the object does not exist yet
 */
export function describeConvertedObject(ref: ObjectRef, fields: readonly FieldChange[], pods: PodChange | undefined): ConvertedObject {
  if (pods === undefined) return { ref, action: "create", changes: [], restarts: false };
  const changes = fields.filter((change) => !isMark(change));
  const restarts = getGroup(ref.apiVersion) === "apps" && WORKLOADS.has(ref.kind) && pods !== "none";
  return { ref, action: changes.length > 0 || restarts ? "change" : "keep", changes, restarts };
}

/**
 * Keeps Pod annotations if Pods would be replaced only because of them, and returns the `spec.drift.ignore` rules that keep them. Pod annotations
 * from the bundle, such as its properties, describe the bundle and do not affect the Pod.
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
 * Returns the effect on an OLM v0 object that the bundle does not contain. The extension adopts only Secrets, because Deployments mount Secrets with
 * serving certificates and the new certificate provider may write Secrets with the same names.
 */
export function describeLeftover(ref: ObjectRef): ConvertedObject {
  return { ref, action: isSecret(ref) ? "keep" : "leave", changes: [], restarts: false };
}

function isMark({ path, before, after = "" }: FieldChange): boolean {
  return MARK.test(path) || (MARKS.test(path) && before === undefined && ONLY_OURS.test(after.replace(/…$/, "}")));
}
