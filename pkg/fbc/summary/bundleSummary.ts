import { numberToken } from "../../golang/json.ts";
import { isObject, memberOf, objectAt, objectsAt } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { collectWords, MAX_TEXT, readBoundedText, wordsAt } from "../boundedTexts.ts";
import type { Meta } from "../types.ts";
import { apisOf, type BundleApis, type CsvMetadata, csvMetadataFrom } from "./csvMetadata.ts";

const LIST = "operators.openshift.io/infrastructure-features";
const SINGLE = "features.operators.openshift.io/";
/** Names of the older list, in small letters, that the newer annotations spell otherwise. */
const NEWER_NAME: ReadonlyMap<string, string> = new Map([
  ["fips", "fips-compliant"],
  ["fipsmode", "fips-compliant"],
  ["fips-mode", "fips-compliant"],
  ["proxy", "proxy-aware"],
]);
const FEATURE = /^[\w.-]{1,63}$/;

/**
 * The infrastructure features that annotations of a ClusterServiceVersion claim, sorted, by the names of the newer annotations
 * (`features.operators.openshift.io/NAME: "true"`): "disconnected", "fips-compliant", "proxy-aware", "cnf", ... The older annotation
 * `operators.openshift.io/infrastructure-features`, a JSON list in a text, counts as well, except for a feature that a newer one denies.
 */
function infrastructureFeatures(annotations: Readonly<Record<string, unknown>>): string[] {
  const features = new Set(olderFeatures(annotations[LIST]));
  for (const [annotation, value] of Object.entries(annotations)) {
    if (!annotation.startsWith(SINGLE)) continue;
    const name = featureName(annotation.slice(SINGLE.length));
    if (value === "true" || value === true) features.add(name);
    else features.delete(name);
  }
  return collectWords([...features].filter((name) => FEATURE.test(name)).sort());
}

/** Whatever spelling: in small letters, with the name that the newer annotations use. */
export function featureName(text: string): string {
  const name = text.trim().toLowerCase().replace(/\s+/g, "-");
  return NEWER_NAME.get(name) ?? name;
}

function olderFeatures(value: unknown): string[] {
  if (typeof value !== "string") return [];
  return collectWords(listIn(value)).map(featureName);
}

/** The entries of a JSON list; of something that is none, `[fips]` for one, what stands between brackets and commas. */
function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // not JSON
  }
  return text
    .replace(/^\s*\[|\]\s*$/g, "")
    .split(",", 64)
    .map((piece) => piece.replace(/["']/g, ""));
}

/** The machines that a version of an Operator runs on; each list sorted and never empty, unless labels withdraw all. */
interface Platforms {
  architectures: string[];
  operatingSystems: string[];
}

const ARCHITECTURE = "operatorframework.io/arch.";
const OPERATING_SYSTEM = "operatorframework.io/os.";
const MAX_PLATFORMS = 32;
const PLATFORM = /^[\w.-]{1,63}$/;

/**
 * The platforms that the labels of a ClusterServiceVersion name with the value "supported". Without any architecture label it is amd64, without any
 * operating system label linux; one label of a kind, whatever its value, is enough to end the default of that kind.
 * @see operator-lifecycle-manager 992bb0977 pkg/package-server/provider/registry.go
 */
function platformsFrom(labels: Readonly<Record<string, unknown>>): Platforms {
  return {
    architectures: supported(labels, ARCHITECTURE, "amd64"),
    operatingSystems: supported(labels, OPERATING_SYSTEM, "linux"),
  };
}

function supported(labels: Readonly<Record<string, unknown>>, prefix: string, byDefault: string): string[] {
  const named = Object.entries(labels).filter(([label]) => label.startsWith(prefix));
  if (named.length === 0) return [byDefault];
  const names = named.flatMap(([label, value]) => (value === "supported" ? [label.slice(prefix.length)] : []));
  return names
    .filter((name) => PLATFORM.test(name))
    .sort()
    .slice(0, MAX_PLATFORMS);
}

/** What a version of an Operator says of itself to people. Absent where it does not. */
export interface BundleDescription {
  displayName?: string | undefined;
  /** In a line or a paragraph. */
  description?: string | undefined;
  provider?: string | undefined;
  keywords?: string[] | undefined;
  categories?: string[] | undefined;
  maturity?: string | undefined;
  certified?: boolean | undefined;
  /** Who gives support. */
  support?: string | undefined;
  /** Where its source lives. */
  repository?: string | undefined;
}

/** Where a version of an Operator can run, and how much it can do. */
export interface BundleSupport {
  /** Such as "Basic Install" or "Auto Pilot". */
  capability?: string | undefined;
  /** Names of the modes that are supported, sorted. */
  installModes: string[];
  minKubeVersion?: string | undefined;
  maxOpenShiftVersion?: string | undefined;
  architectures: string[];
  operatingSystems: string[];
  infrastructureFeatures: string[];
}

/** The version of a bundle as its package property states it, and the release where it has one. */
export interface StatedVersion {
  version?: string | undefined;
  release?: string | undefined;
}

/** What a catalog tells of one bundle without its manifests. All texts are bounded; they share memory with the meta. */
export interface CatalogBundleSummary extends StatedVersion {
  name: string;
  description: BundleDescription;
  support: BundleSupport;
  apis: BundleApis;
  containerImage?: string | undefined;
  /** As the author wrote it. */
  createdAt?: string | undefined;
  /** How many images it is made of. */
  relatedImages: number;
}

const MAX_VERSION = 256;

/** What the meta of a bundle tells. Never throws: what cannot be read is absent. */
export function bundleSummary(meta: Meta): CatalogBundleSummary {
  const properties = propertiesOf(meta);
  const csv = csvMetadataFrom(properties);
  const annotations = csv?.annotations ?? {};
  const images = memberOf(meta.blob, "relatedImages");
  return {
    name: meta.name,
    ...statedVersion(properties),
    description: descriptionOf(csv),
    support: supportOf(properties, csv),
    apis: apisOf(properties, csv),
    containerImage: readBoundedText(annotations, "containerImage"),
    createdAt: readBoundedText(annotations, "createdAt", 64),
    relatedImages: Array.isArray(images) ? images.length : 0,
  };
}

/** The properties of a bundle that are objects. */
export function propertiesOf({ blob }: Meta): readonly Readonly<Record<string, unknown>>[] {
  return objectsAt(blob, "properties");
}

/**
 * The version in the first property `olm.package`, as it is written there, and the release: the one that the property states, else build metadata
 * that can be one. Both absent where there is no version that can be read.
 */
export function statedVersion(properties: readonly Readonly<Record<string, unknown>>[]): StatedVersion {
  const property = properties.find((one) => memberOf(one, "type") === "olm.package");
  if (!property) return {};
  const value = objectAt(property, "value");
  const version = memberOf(value, "version");
  const stated = memberOf(value, "release");
  if (typeof version !== "string" || version.length > MAX_VERSION) return {};
  if (stated !== undefined && stated !== null && typeof stated !== "string") return {};
  try {
    const { release } = parseVersionRelease(version, stated);
    return release ? { version, release: release.join(".") } : { version };
  } catch {
    return {};
  }
}

function descriptionOf(csv: CsvMetadata | undefined): BundleDescription {
  if (!csv) return {};
  const { annotations, spec } = csv;
  const certified = readBoundedText(annotations, "certified");
  return {
    displayName: readBoundedText(spec, "displayName", 256),
    description: readBoundedText(annotations, "description") ?? firstParagraph(memberOf(spec, "description")),
    provider: readBoundedText(objectAt(spec, "provider"), "name", 256),
    keywords: unlessEmpty(wordsAt(spec, "keywords")),
    categories: unlessEmpty(collectWords((readBoundedText(annotations, "categories") ?? "").split(","))),
    maturity: readBoundedText(spec, "maturity", 64),
    certified: certified === undefined ? undefined : certified.toLowerCase() === "true",
    support: readBoundedText(annotations, "support", 256),
    repository: readBoundedText(annotations, "repository"),
  };
}

function supportOf(properties: readonly Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined): BundleSupport {
  const annotations = csv?.annotations ?? {};
  const spec = csv?.spec ?? {};
  const modes = objectsAt(spec, "installModes").filter((mode) => memberOf(mode, "supported") === true);
  return {
    capability: readBoundedText(annotations, "capabilities", 64),
    installModes: collectWords(modes.map((mode) => memberOf(mode, "type"))).sort(),
    minKubeVersion: readBoundedText(spec, "minKubeVersion", 64),
    maxOpenShiftVersion: maxOpenShiftVersion(properties),
    ...platformsFrom(csv?.labels ?? {}),
    infrastructureFeatures: infrastructureFeatures(annotations),
  };
}

/** The newest OpenShift minor that the bundle may run on, as it is written; a number only where a text of it was kept. */
function maxOpenShiftVersion(properties: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  const property = properties.find((one) => memberOf(one, "type") === "olm.maxOpenShiftVersion");
  if (!property) return undefined;
  const value = memberOf(property, "value");
  if (typeof value === "string") return truncate(value.trim(), 64) || undefined;
  return typeof value === "number" ? String(value) : isObject(value) ? numberToken(value) : undefined;
}

function firstParagraph(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.slice(0, 16_384);
  const paragraph = text.split(/\n\s*\n/).find((piece) => /[\p{L}\p{N}]/u.test(piece) && !/^\s*#/.test(piece)) ?? text;
  return truncate(paragraph.replace(/\s+/g, " ").trim(), MAX_TEXT) || undefined;
}

function unlessEmpty(list: string[]): string[] | undefined {
  return list.length === 0 ? undefined : list;
}
