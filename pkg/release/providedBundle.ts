import {
  ANNOTATION_PROPERTIES,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { listAggregatedApis } from "../bundle/apiServices.ts";
import { parseRawProperties } from "../bundle/properties.ts";
import { readCrdKind, readCrdVersions } from "../crdsafety/crdParts.ts";
import type { Property } from "../fbc/types.ts";
import { encodeGoJson } from "../golang/json.ts";
import type { Gvk, Provider } from "../resolve/constraint/constraint.ts";
import { getGvkKey, toProvider } from "../resolve/constraint/parse.ts";
import { parseVersionRelease, type VersionRelease } from "../version/version.ts";
import { isCrd } from "./identity.ts";
import type { ReleaseRecord } from "./record.ts";

/** Types of properties that identify a bundle and list what it provides and requires. They take precedence over other properties. */
const DECISIVE: ReadonlySet<string> = new Set([
  "olm.package",
  "olm.gvk",
  "olm.package.required",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);
/** Properties in which catalogs store manifests. */
const BULKY: ReadonlySet<string> = new Set(["olm.bundle.object", "olm.csv.metadata"]);
/** Maximum length of a property of another type, in characters of its JSON. */
const MAX_OTHER = 1_024;
/** Maximum total, in characters. */
const MAX_PROPERTIES = 32_768;

/**
 * Formats the properties of a bundle for its release: a JSON list of type and value in the bundle's order, without manifests and without long
 * properties that dependencies do not need. At most 32,768 characters; properties that dependencies need take precedence.
 */
export function formatKeptProperties(properties: readonly Property[]): string {
  const all = properties
    .filter(({ type }) => !BULKY.has(type))
    .map(({ type, value }) => ({ decides: DECISIVE.has(type), json: encodeGoJson({ type, value }, { sortKeys: false }) }));
  let left = MAX_PROPERTIES;
  const fitting = (one: { json: string }): boolean => {
    if (one.json.length + 1 >= left) return false;
    left -= one.json.length + 1;
    return true;
  };
  const decisive = new Set(all.filter(({ decides }) => decides).filter(fitting));
  const others = new Set(all.filter(({ decides, json }) => !decides && json.length <= MAX_OTHER).filter(fitting));
  return `[${all.flatMap((one) => (decisive.has(one) || others.has(one) ? [one.json] : [])).join(",")}]`;
}

/**
 * Returns the APIs that the CustomResourceDefinitions in `objects` serve, in their order, then those of the APIServices; malformed definitions
 * are ignored.
 */
function listServedApis(objects: readonly KubeObject[]): Gvk[] {
  const defined = objects.filter(isCrd).flatMap((crd) => {
    const { group, kind } = readCrdKind(crd);
    if (group === "" || kind === "") return [];
    return readCrdVersions(crd).flatMap(({ name, served }) => (served && name !== "" ? [{ group, version: name, kind }] : []));
  });
  return [...defined, ...listAggregatedApis(objects).map(({ group, version, kind }) => ({ group, version, kind }))];
}

/** The bundle of a release, with the parts that its dependents refer to. */
export interface ProvidedBundle extends Provider {
  /** Name of the bundle. */
  readonly name: string;
}

/** Maximum number of APIs of one release. */
const MAX_APIS = 500;

/**
 * Returns the bundle of a release. Its properties are those of the catalog at installation, otherwise those of the ClusterServiceVersion. It
 * provides the APIs of its CustomResourceDefinitions and, for other kinds, those of its olm.gvk properties. Never throws: invalid parts are
 * ignored.
 */
export function readProvidedBundle(release: Pick<ReleaseRecord, "labels" | "annotations" | "properties" | "objects">): ProvidedBundle {
  const { labels, annotations, objects } = release;
  const properties = readProperties(release.properties) ?? readProperties(annotations[ANNOTATION_PROPERTIES]) ?? [];
  const [name = "", packageName = ""] = [labels[LABEL_BUNDLE_NAME], labels[LABEL_PACKAGE_NAME]];
  const stated = toProvider({ name, package: packageName, properties });
  const version = toVersionRelease(labels[LABEL_BUNDLE_VERSION], labels[LABEL_BUNDLE_RELEASE]);
  return { ...stated, name, version, apis: mergeProvidedApis(listServedApis(objects), stated.apis) };
}

/** Merges APIs from definitions with APIs from properties. */
export function mergeProvidedApis(served: readonly Gvk[], stated: readonly Gvk[]): Gvk[] {
  const defined = new Set(served.map(({ group, kind }) => `${group}/${kind}`));
  const others = stated.filter(({ group, kind }) => !defined.has(`${group}/${kind}`));
  return [...new Map([...served, ...others].map((gvk) => [getGvkKey(gvk), gvk])).values()].slice(0, MAX_APIS);
}

function readProperties(text: string | undefined): Property[] | undefined {
  if (text === undefined) return undefined;
  try {
    const all = parseRawProperties(text).map(({ type, value }): Property => ({ type, value: value === "" ? null : JSON.parse(value) }));
    return JSON.parse(formatKeptProperties(all)) as Property[];
  } catch {
    return undefined;
  }
}

function toVersionRelease(version: string | undefined, release: string | undefined): VersionRelease | undefined {
  try {
    return parseVersionRelease(version ?? "", release);
  } catch {
    return undefined;
  }
}
