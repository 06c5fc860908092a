import type { KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { toYaml } from "../../golang/yaml.ts";
import { isSecret } from "../../release/identity.ts";

/** Maximum length of the text of an object, in characters. Objects in etcd are smaller; the API server may add fields. */
const MAX_TEXT = 1024 * 1024;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** Stands for a value of a Secret. */
export const HIDDEN_VALUE = "(hidden)";

/** The texts of an object that users may see. */
export interface ObjectText {
  readonly yaml: string;
  readonly json: string;
  readonly managedFields: string | undefined;
  /** What is left out. */
  readonly notes: readonly string[];
}

/** Formats an object without managed fields, without kubectl's copy of the object, and without the values of Secrets. */
export function formatObject(object: KubeObject): ObjectText {
  const { managedFields, annotations, ...metadata } = object.metadata;
  const notes: string[] = [];
  const { [LAST_APPLIED]: lastApplied, ...kept } = annotations ?? {};
  if (lastApplied !== undefined) notes.push(`Annotation ${LAST_APPLIED} is left out.`);
  const shown = annotations === undefined ? metadata : { ...metadata, annotations: kept };
  const { apiVersion, kind, metadata: _old, ...members } = object;
  const plain = { apiVersion, kind, metadata: shown, ...members } as KubeObject;
  const visible = isSecret(object) ? hideValues(plain) : plain;
  if (isSecret(object)) notes.push("The values of the Secret are hidden.");
  const json = JSON.stringify(visible, undefined, 2);
  const yaml = formatYaml(visible, json);
  if (Math.max(yaml.length, json.length) > MAX_TEXT) notes.push("The end is left out, because the object is too large.");
  return {
    yaml: yaml.slice(0, MAX_TEXT),
    json: json.slice(0, MAX_TEXT),
    managedFields: managedFields === undefined || managedFields.length === 0 ? undefined : toYaml(managedFields).slice(0, MAX_TEXT),
    notes,
  };
}

/** Formats as YAML. The YAML library cannot write very long words; JSON, which is YAML too, then takes its place. */
function formatYaml(object: KubeObject, json: string): string {
  try {
    return toYaml(object);
  } catch (err) {
    if (err instanceof RangeError) return json;
    throw err;
  }
}

/** Keeps only the known members of a Secret, and of its data and annotations only the keys: annotations may contain copies of the data. */
function hideValues({ apiVersion, kind, metadata, type, immutable, data, stringData }: KubeObject): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, ...(metadata.annotations ? { annotations: hideMembers(metadata.annotations) } : {}) },
    ...(type === undefined ? {} : { type }),
    ...(immutable === undefined ? {} : { immutable }),
    ...(data === undefined ? {} : { data: hideMembers(data) }),
    ...(stringData === undefined ? {} : { stringData: hideMembers(stringData) }),
  };
}

function hideMembers(members: unknown): Record<string, string> {
  return isObject(members) ? Object.fromEntries(Object.keys(members).map((key) => [key, HIDDEN_VALUE])) : {};
}
