import type { JsonObject } from "../api/k8s.ts";
import { excerpt } from "../fbc/excerpt.ts";
import { objectAt, objectMembers, textMember } from "../fbc/members.ts";

/** A kind of an API, and how it is called in paths. */
export interface ApiKey {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
}

/** Of the APIs of a bundle, that an error names. */
const MAX_TOLD = 50;

/** The APIs that a bundle's CRDs define, each version of each, and those that its API services serve. */
export function providedApis(objects: readonly JsonObject[], csv: JsonObject): ApiKey[] {
  const crds = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  return [...crds.flatMap(crdApis), ...apiServices(csv, "owned")];
}

/** The APIs that the ClusterServiceVersion wants from others. @throws Error for a CRD whose name has no dot. */
export function requiredApis(csv: JsonObject): ApiKey[] {
  return [...definedApis(csv, "required"), ...apiServices(csv, "required")];
}

/** @throws Error where the ClusterServiceVersion owns a CRD that the bundle does not hold. */
export function checkOwnedApis(provided: readonly ApiKey[], csv: JsonObject): void {
  const names = new Set(provided.map(apiName));
  const missing = definedApis(csv, "owned")
    .map(apiName)
    .find((name) => !names.has(name));
  if (missing === undefined) return;
  const found = [...names]
    .sort()
    .slice(0, MAX_TOLD)
    .map((name) => `${name}:{}`);
  const more = names.size > MAX_TOLD ? ` and ${names.size - MAX_TOLD} more` : "";
  throw new Error(`couldn't find ${missing} in bundle. found: map[${found.join(" ")}${more}]`);
}

function crdApis(crd: JsonObject): ApiKey[] {
  const spec = objectAt(crd, "spec");
  const names = objectAt(spec, "names");
  const versions = objectMembers(spec, "versions").map((version) => textMember(version, "name"));
  const single = textMember(crd, "apiVersion").endsWith("/v1beta1") ? textMember(spec, "version") : "";
  return [...new Set([...versions, ...(single === "" ? [] : [single])])].map((version) => ({
    group: textMember(spec, "group"),
    version,
    kind: textMember(names, "kind"),
    plural: textMember(names, "plural"),
  }));
}

function definedApis(csv: JsonObject, which: "owned" | "required"): ApiKey[] {
  return objectMembers(objectAt(objectAt(csv, "spec"), "customresourcedefinitions"), which).map((definition) => {
    const name = textMember(definition, "name");
    const dot = name.indexOf(".");
    if (dot < 0) throw new Error(`couldn't parse plural.group from crd name: ${excerpt(name)}`);
    const [version, kind] = [textMember(definition, "version"), textMember(definition, "kind")];
    return { group: name.slice(dot + 1), version, kind, plural: name.slice(0, dot) };
  });
}

function apiServices(csv: JsonObject, which: "owned" | "required"): ApiKey[] {
  return objectMembers(objectAt(objectAt(csv, "spec"), "apiservicedefinitions"), which).map((api) => ({
    group: textMember(api, "group"),
    version: textMember(api, "version"),
    kind: textMember(api, "kind"),
    plural: textMember(api, "name"),
  }));
}

function apiName({ group, version, kind, plural }: ApiKey): string {
  return excerpt(`${group}/${version}/${kind} (${plural})`);
}
