import { isObject } from "../api/jsonObject.ts";
import { groupOf, type JsonObject, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { collapseList, collapsePodSpec, describeDrop } from "./duplicates.ts";
import { describeObject, objectKey } from "./identity.ts";
import { type LostPortName, withPortNumbers, withTargetNumbers } from "./portNames.ts";

/** Objects and what was changed in them, one sentence a change. */
export interface Adjusted {
  objects: KubeObject[];
  notes: string[];
}

/**
 * Collapses list entries that repeat a key to the last one: a create accepts them, an apply does not.
 * Where a container port loses its name that way, probes and Services of the set that use the name get the number.
 */
export function collapseDuplicates(objects: readonly KubeObject[]): Adjusted {
  const notes: string[] = [];
  const lostIn: { namespace: string | undefined; labels: JsonObject; lost: readonly LostPortName[] }[] = [];
  const collapsed = objects.map((object) => {
    const listed = collapseOwnLists(object, notes);
    const template = templateOf(listed);
    if (!template) return listed;
    const { spec, dropped } = collapsePodSpec(template.podSpec);
    if (dropped.length === 0) return listed;
    notes.push(...dropped.map((drop) => `${describeObject(object)}: ${describeDrop(drop)}`));
    const lost = dropped.flatMap(({ list, entry, kept }): LostPortName[] =>
      list === "ports" && typeof entry["name"] === "string" && entry["name"] !== kept["name"]
        ? [{ name: entry["name"], port: entry["containerPort"] }]
        : [],
    );
    if (lost.length > 0) lostIn.push({ namespace: object.metadata.namespace, labels: template.labels, lost });
    return template.withPodSpec(withPortNumbers(spec, lost) as JsonObject);
  });
  return { objects: lostIn.length === 0 ? collapsed : collapsed.map((object) => withTargetNumbers(object, lostIn)), notes };
}

/** Leaves `replicas` to the HorizontalPodAutoscaler of the same set that targets a workload. */
export function releaseReplicas(objects: readonly KubeObject[]): Adjusted {
  const scaled = new Set(objects.filter((object) => object.kind === "HorizontalPodAutoscaler").map(targetOf));
  const notes: string[] = [];
  const released = objects.map((object) => {
    const spec = object["spec"];
    if (!scaled.has(objectKey(object)) || !isObject(spec) || !("replicas" in spec)) return object;
    const { replicas: _, ...rest } = spec;
    notes.push(`${describeObject(object)}: replicas are left to its HorizontalPodAutoscaler`);
    return { ...object, spec: rest };
  });
  return { objects: released, notes };
}

function targetOf(autoscaler: KubeObject): string {
  const spec = autoscaler["spec"];
  const { apiVersion, kind, name } = (isObject(spec) ? (spec["scaleTargetRef"] ?? {}) : {}) as Partial<ObjectRef>;
  return objectKey({ apiVersion: apiVersion ?? "", kind: kind ?? "", name: name ?? "", namespace: autoscaler.metadata.namespace });
}

function collapseOwnLists(object: KubeObject, notes: string[]): KubeObject {
  let result = object;
  const { finalizers } = object.metadata;
  if (finalizers && new Set(finalizers).size < finalizers.length) {
    result = { ...result, metadata: { ...object.metadata, finalizers: [...new Set(finalizers)] } };
    notes.push(`${describeObject(object)}: finalizers are given more than once, they count once`);
  }
  const secrets = object["secrets"];
  if (object.kind === "ServiceAccount" && groupOf(object.apiVersion) === "" && Array.isArray(secrets)) {
    const onDrop = (entry: JsonObject): unknown =>
      notes.push(`${describeObject(object)}: ${describeDrop({ container: "", list: "secrets", entry, kept: entry })}`);
    result = { ...result, secrets: collapseList(secrets, [["name", ""]], onDrop) };
  }
  return result;
}

/** The Pod template of a workload, with a way to put a changed Pod spec back. */
function templateOf(
  object: KubeObject,
): { podSpec: JsonObject; labels: JsonObject; withPodSpec(podSpec: JsonObject): KubeObject } | undefined {
  const spec = object["spec"];
  const template = isObject(spec) ? spec["template"] : undefined;
  if (!isObject(spec) || !isObject(template) || !isObject(template["spec"])) return undefined;
  const metadata = isObject(template["metadata"]) ? template["metadata"] : {};
  return {
    podSpec: template["spec"],
    labels: isObject(metadata["labels"]) ? metadata["labels"] : {},
    withPodSpec: (podSpec) => ({ ...object, spec: { ...spec, template: { ...template, spec: podSpec } } }),
  };
}
