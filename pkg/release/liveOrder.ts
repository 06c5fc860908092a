import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";

/** Lists of a Pod, with the field by which the API server identifies their entries. It keeps the order of the last apply. */
const KEYS: Readonly<Record<string, string>> = {
  containers: "name",
  env: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  volumes: "name",
};

/** The effect of an apply on the Pods of an object: none, only annotations, or other changes that may affect running containers. */
export type PodChange = "none" | "annotations" | "other";

/**
 * Returns `object` with the lists of its Pod template in the order of the live object, followed by new entries. The order of such lists is part of
 * the template, so applying the same entries in another order would replace all Pods.
 */
export function sortLikeLive(object: KubeObject, live: KubeObject | undefined): KubeObject {
  const [template, there] = [getPodTemplate(object), getPodTemplate(live)];
  const spec = object["spec"];
  if (!template || !there || !isObject(spec)) return object;
  return { ...object, spec: { ...spec, template: { ...template, spec: ordered(template["spec"], there["spec"]) } } };
}

/** Compares the Pod templates of two states of one object, including the order of lists. */
export function comparePods(before: KubeObject, after: KubeObject): PodChange {
  const [from, to] = [getPodTemplate(before), getPodTemplate(after)];
  if (!from || !to || encodeCanonicalJson(from) === encodeCanonicalJson(to)) return "none";
  return encodeCanonicalJson(withoutAnnotations(from)) === encodeCanonicalJson(withoutAnnotations(to)) ? "annotations" : "other";
}

function ordered(value: unknown, live: unknown): unknown {
  if (!isObject(value) || !isObject(live)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, content]) => {
      const [key, there] = [KEYS[member], live[member]];
      if (key === undefined || !Array.isArray(content) || !Array.isArray(there)) return [member, content];
      return [member, orderedList(content, there, key)];
    }),
  );
}

function orderedList(list: readonly unknown[], live: readonly unknown[], key: string): unknown[] {
  const getItemKey = (item: unknown): unknown => (isObject(item) ? item[key] : undefined);
  const position = new Map(live.map((item, i) => [getItemKey(item), i]));
  const getPosition = (item: unknown): number => position.get(getItemKey(item)) ?? live.length;
  return list.toSorted((a, b) => getPosition(a) - getPosition(b)).map((item) => ordered(item, live[getPosition(item)]));
}

function getPodTemplate(object: KubeObject | undefined): JsonObject | undefined {
  const spec = object?.["spec"];
  const template = isObject(spec) ? spec["template"] : undefined;
  return isObject(template) ? template : undefined;
}

function withoutAnnotations(template: JsonObject): JsonObject {
  const metadata = template["metadata"];
  if (!isObject(metadata)) return template;
  const { annotations: _, ...rest } = metadata;
  return { ...template, metadata: rest };
}
