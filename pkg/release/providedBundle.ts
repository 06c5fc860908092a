import {
  ANNOTATION_PROPERTIES,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import { rawProperties } from "../bundle/properties.ts";
import type { Property } from "../fbc/types.ts";
import type { Gvk, Provider } from "../resolve/constraint/constraint.ts";
import { gvkKey, providerFrom } from "../resolve/constraint/provider.ts";
import { parseVersionRelease, type VersionRelease } from "../version/version.ts";
import { keptProperties } from "./bundleProperties.ts";
import type { ReleaseRecord } from "./record.ts";
import { servedApis } from "./servedApis.ts";

/** The bundle of a release as others see it that may depend on it. */
export interface ProvidedBundle extends Provider {
  /** Name of the bundle. */
  readonly name: string;
}

/** APIs of one release at most. */
const MAX_APIS = 500;

/**
 * The bundle that a release holds. Its properties are those that its catalog stated when it was applied, else those of the
 * ClusterServiceVersion. It provides what its CustomResourceDefinitions serve and, of other kinds, what its properties of type olm.gvk say.
 * Never throws: what cannot be read is not there.
 */
export function providedBundle(release: Pick<ReleaseRecord, "labels" | "annotations" | "properties" | "objects">): ProvidedBundle {
  const { labels, annotations, objects } = release;
  const properties = propertiesIn(release.properties) ?? propertiesIn(annotations[ANNOTATION_PROPERTIES]) ?? [];
  const [name = "", packageName = ""] = [labels[LABEL_BUNDLE_NAME], labels[LABEL_PACKAGE_NAME]];
  const stated = providerFrom({ name, package: packageName, properties });
  const version = versionOf(labels[LABEL_BUNDLE_VERSION], labels[LABEL_BUNDLE_RELEASE]);
  return { ...stated, name, version, apis: providedApis(servedApis(objects), stated.apis) };
}

/** What definitions serve, with what else is stated. */
export function providedApis(served: readonly Gvk[], stated: readonly Gvk[]): Gvk[] {
  const defined = new Set(served.map(({ group, kind }) => `${group}/${kind}`));
  const others = stated.filter(({ group, kind }) => !defined.has(`${group}/${kind}`));
  return [...new Map([...served, ...others].map((gvk) => [gvkKey(gvk), gvk])).values()].slice(0, MAX_APIS);
}

function propertiesIn(text: string | undefined): Property[] | undefined {
  if (text === undefined) return undefined;
  try {
    const all = rawProperties(text).map(({ type, value }): Property => ({ type, value: value === "" ? null : JSON.parse(value) }));
    return JSON.parse(keptProperties(all)) as Property[];
  } catch {
    return undefined;
  }
}

function versionOf(version: string | undefined, release: string | undefined): VersionRelease | undefined {
  try {
    return parseVersionRelease(version ?? "", release);
  } catch {
    return undefined;
  }
}
