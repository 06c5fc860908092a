import { acceptsTrustedCa } from "../api/constants.ts";
import type { KubeObject, ObjectMeta } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { isCrd } from "./identity.ts";

/** Metadata fields that only the API server sets. */
const SERVER_SIDE: ReadonlySet<string> = new Set([
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generation",
  "managedFields",
  "resourceVersion",
  "selfLink",
  "uid",
]);

/** String maps. The API server converts null in them to the empty string. */
const STRING_MAPS: ReadonlySet<string> = new Set(["annotations", "data", "labels", "matchLabels", "nodeSelector", "stringData"]);

/**
 * Returns `object` in the form for server-side apply: without status, nulls, fields that the API server sets, and the empty `data` of a ConfigMap
 * that OpenShift fills, which the apply would otherwise own. A Secret's `stringData` becomes `data`. Does not change the argument.
 */
export function cleanObject(object: KubeObject): KubeObject {
  const { status: _, ...members } = object;
  const clean = removeNulls(members, isCrd(object) ? undefined : "") as KubeObject;
  const metadata = Object.fromEntries(Object.entries(clean.metadata).filter(([member]) => !SERVER_SIDE.has(member)));
  const { apiVersion, kind, metadata: __, ...rest } = clean;
  const cleaned = removeTemplateTimestamp({ apiVersion, kind, metadata: metadata as unknown as ObjectMeta, ...rest });
  if (acceptsTrustedCa(cleaned) && isObject(cleaned["data"]) && Object.keys(cleaned["data"]).length === 0) delete cleaned["data"];
  return kind === "Secret" && apiVersion === "v1" ? withStringData(cleaned) : cleaned;
}

/**
 * Returns `value` itself if it contains no nulls, so that large objects are not copied.
 * @param parent name of the field that contains `value`; undefined if string maps cannot be recognized by name
 */
function removeNulls(value: unknown, parent: string | undefined): unknown {
  if (Array.isArray(value)) {
    const entries = value.map((entry: unknown) => removeNulls(entry, parent === undefined ? undefined : ""));
    return entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  if (!isObject(value)) return value;
  const isStringMap = parent !== undefined && STRING_MAPS.has(parent);
  const members = Object.keys(value);
  let kept: [string, unknown][] | undefined;
  for (const [index, member] of members.entries()) {
    const content = value[member];
    const clean = content === null && isStringMap ? "" : removeNulls(content, parent === undefined ? undefined : member);
    if (!kept && clean === content && content !== null && content !== undefined) continue;
    kept ??= members.slice(0, index).map((before) => [before, value[before]]);
    if (clean !== null && clean !== undefined) kept.push([member, clean]);
  }
  return kept ? Object.fromEntries(kept) : value;
}

/** Generators write `creationTimestamp: null` into Pod templates, which would never match the live object. */
function removeTemplateTimestamp(object: KubeObject): KubeObject {
  const { spec } = object;
  const template = isObject(spec) ? spec["template"] : undefined;
  const metadata = isObject(template) ? template["metadata"] : undefined;
  if (!isObject(spec) || !isObject(template) || !isObject(metadata) || !("creationTimestamp" in metadata)) return object;
  const { creationTimestamp: _, ...others } = metadata;
  return { ...object, spec: { ...spec, template: { ...template, metadata: others } } };
}

/** Converts a Secret to the form that the API server returns: with `stringData` in `data`. An apply would otherwise own both and differ forever. */
export function withStringData(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret;
  if (!isObject(stringData)) return rest;
  const data = isObject(secret["data"]) ? secret["data"] : {};
  const encoded = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(String(value), "utf8").toString("base64")]);
  return { ...rest, data: { ...data, ...Object.fromEntries(encoded) } };
}
