import { groupOf, type ObjectRef } from "../api/k8s.ts";
import type { FieldChange } from "../release/diff.ts";
import type { PodChange } from "../release/liveOrder.ts";

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

/** Fields that an extension leaves as they are: a rule of `spec.drift.ignore`. */
export interface KeptFields {
  readonly paths: readonly string[];
  readonly target: { readonly group: string; readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** Rules, and paths in each, that an extension may have at most. */
const MAX_RULES = 16;
const POD_ANNOTATION = /^spec\.template\.metadata\.annotations(?:\.([A-Za-z_$][\w$-]*)|\["([^"]+)"\])$/;
const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);
const MARK = /^metadata\.(ownerReferences|labels\["olm\.operatorframework\.io\/|annotations\["olm\.operatorframework\.io\/owner-uid")/;
const MARKS = /^metadata\.(labels|annotations)$/;
const ONLY_OURS = /^\{("olm\.operatorframework\.io\/[^"]+":"[^"]*",?)+\}$/;

/**
 * What becomes of an object that the extension will hold: marks of who owns it are on all of them, and no change.
 * @param pods what it would do to its Pods; undefined for what is not there now.
 */
export function convertedObject(ref: ObjectRef, fields: readonly FieldChange[], pods: PodChange | undefined): ConvertedObject {
  if (pods === undefined) return { ref, action: "create", changes: [], restarts: false };
  const changes = fields.filter((change) => !isMark(change));
  const restarts = WORKLOADS.has(ref.kind) && pods !== "none";
  return { ref, action: changes.length > 0 || restarts ? "change" : "keep", changes, restarts };
}

/**
 * Objects whose Pods would be made anew for their annotations alone, with these left as they are, and the rules that keep them so. An annotation
 * of a bundle on a Pod, such as its properties, tells what the bundle is and nothing that the Pod does.
 */
export function withPodAnnotationsKept(
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
    const target = { group: groupOf(apiVersion), kind, ...(namespace === undefined ? {} : { namespace }), name };
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
 * What becomes of an object that OLM classic made and the bundle does not hold. Secrets go over to the extension with the rest: those of serving
 * certificates are mounted by the Deployments, and whoever provides certificates from now on may write them under the same names.
 */
export function leftBehind(ref: ObjectRef): ConvertedObject {
  return { ref, action: ref.kind === "Secret" ? "keep" : "leave", changes: [], restarts: false };
}

function isMark({ path, before, after = "" }: FieldChange): boolean {
  return MARK.test(path) || (MARKS.test(path) && before === undefined && ONLY_OURS.test(after.replace(/…$/, "}")));
}
