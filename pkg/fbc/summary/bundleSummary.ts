import { getNumberToken } from "../../golang/json.ts";
import { findMember, getObjectAt, getObjectsAt, isObject } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { collectWords, MAX_TEXT, readBoundedText, readWords } from "../boundedTexts.ts";
import type { Meta } from "../types.ts";
import { type BundleApis, type CsvMetadata, collectApis, readCsvMetadata } from "./csvMetadata.ts";

const LIST = "operators.openshift.io/infrastructure-features";
const SINGLE = "features.operators.openshift.io/";
/** Lower-case feature names in the older list whose names differ in the newer annotations. */
const NEWER_NAME: ReadonlyMap<string, string> = new Map([
  ["fips", "fips-compliant"],
  ["fipsmode", "fips-compliant"],
  ["fips-mode", "fips-compliant"],
  ["proxy", "proxy-aware"],
]);
const FEATURE = /^[\w.-]{1,63}$/;

/**
 * Returns the infrastructure features in annotations of a ClusterServiceVersion, sorted, with the names of the newer annotations
 * (`features.operators.openshift.io/NAME: "true"`): "disconnected", "fips-compliant", "proxy-aware", "cnf", ... Also reads the JSON list in the older
 * annotation `operators.openshift.io/infrastructure-features`, except features for which a newer annotation has another value.
 */
function infrastructureFeatures(annotations: Readonly<Record<string, unknown>>): string[] {
  const features = new Set(olderFeatures(annotations[LIST]));
  for (const [annotation, value] of Object.entries(annotations)) {
    if (!annotation.startsWith(SINGLE)) continue;
    const name = normalizeFeatureName(annotation.slice(SINGLE.length));
    if (value === "true" || value === true) features.add(name);
    else features.delete(name);
  }
  return collectWords([...features].filter((name) => FEATURE.test(name)).sort());
}

/** Normalizes the name of a feature: lower case, with the name of the newer annotations. */
export function normalizeFeatureName(text: string): string {
  const name = text.trim().toLowerCase().replace(/\s+/g, "-");
  return NEWER_NAME.get(name) ?? name;
}

function olderFeatures(value: unknown): string[] {
  if (typeof value !== "string") return [];
  return collectWords(listIn(value)).map(normalizeFeatureName);
}

/** Parses a JSON list. For an invalid list such as `[fips]`, returns the texts between brackets and commas. */
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

/** The platforms that a version supports. Lists are sorted. A list is empty only if labels exclude all platforms. */
interface Platforms {
  architectures: string[];
  operatingSystems: string[];
}

const ARCHITECTURE = "operatorframework.io/arch.";
const OPERATING_SYSTEM = "operatorframework.io/os.";
const MAX_PLATFORMS = 32;
const PLATFORM = /^[\w.-]{1,63}$/;

/**
 * Returns the platforms whose ClusterServiceVersion label has value "supported". Defaults: amd64 if there are no architecture labels, and linux if
 * there are no operating system labels. A label with any value disables the default.
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

/** The description of a version. Missing values are absent. */
export interface BundleDescription {
  displayName?: string | undefined;
  /** A line or paragraph. */
  description?: string | undefined;
  provider?: string | undefined;
  keywords?: string[] | undefined;
  categories?: string[] | undefined;
  maturity?: string | undefined;
  certified?: boolean | undefined;
  /** Name of the support provider. */
  support?: string | undefined;
  /** URL of the source code. */
  repository?: string | undefined;
}

/** The capability level, platforms and install modes of a version. */
export interface BundleSupport {
  /** Capability level, such as "Basic Install" or "Auto Pilot". */
  capability?: string | undefined;
  /** Names of supported install modes, sorted. */
  installModes: string[];
  minKubeVersion?: string | undefined;
  maxOpenShiftVersion?: string | undefined;
  architectures: string[];
  operatingSystems: string[];
  infrastructureFeatures: string[];
}

/** The version in the package property of a bundle and its release, if any. */
export interface StatedVersion {
  version?: string | undefined;
  release?: string | undefined;
}

/** The summary of a bundle in a catalog, without manifests. The length of texts is limited. Texts share memory with the meta. */
export interface CatalogBundleSummary extends StatedVersion {
  name: string;
  description: BundleDescription;
  support: BundleSupport;
  apis: BundleApis;
  containerImage?: string | undefined;
  /** Unparsed text of the annotation. */
  createdAt?: string | undefined;
  /** Number of related images. */
  relatedImages: number;
}

const MAX_VERSION = 256;

/** Returns the summary of a bundle. Omits invalid values. Never throws. */
export function summarizeCatalogBundle(meta: Meta): CatalogBundleSummary {
  const properties = listProperties(meta);
  const csv = readCsvMetadata(properties);
  const annotations = csv?.annotations ?? {};
  const images = findMember(meta.blob, "relatedImages");
  return {
    name: meta.name,
    ...readStatedVersion(properties),
    description: readDescription(csv),
    support: readSupport(properties, csv),
    apis: collectApis(properties, csv),
    containerImage: readBoundedText(annotations, "containerImage"),
    createdAt: readBoundedText(annotations, "createdAt", 64),
    relatedImages: Array.isArray(images) ? images.length : 0,
  };
}

/** Returns the properties of a bundle. Ignores properties that are not objects. */
export function listProperties({ blob }: Meta): readonly Readonly<Record<string, unknown>>[] {
  return getObjectsAt(blob, "properties");
}

/**
 * Reads the unparsed version and the release from the first `olm.package` property. If the property has no release, reads it from build metadata that
 * has the form of a release. Omits both if the version is invalid.
 */
export function readStatedVersion(properties: readonly Readonly<Record<string, unknown>>[]): StatedVersion {
  const property = properties.find((one) => findMember(one, "type") === "olm.package");
  if (!property) return {};
  const value = getObjectAt(property, "value");
  const version = findMember(value, "version");
  const stated = findMember(value, "release");
  if (typeof version !== "string" || version.length > MAX_VERSION) return {};
  if (stated !== undefined && stated !== null && typeof stated !== "string") return {};
  try {
    const { release } = parseVersionRelease(version, stated);
    return release ? { version, release: release.join(".") } : { version };
  } catch {
    return {};
  }
}

function readDescription(csv: CsvMetadata | undefined): BundleDescription {
  if (!csv) return {};
  const { annotations, spec } = csv;
  const certified = readBoundedText(annotations, "certified");
  return {
    displayName: readBoundedText(spec, "displayName", 256),
    description: readBoundedText(annotations, "description") ?? firstParagraph(findMember(spec, "description")),
    provider: readBoundedText(getObjectAt(spec, "provider"), "name", 256),
    keywords: unlessEmpty(readWords(spec, "keywords")),
    categories: unlessEmpty(collectWords((readBoundedText(annotations, "categories") ?? "").split(","))),
    maturity: readBoundedText(spec, "maturity", 64),
    certified: certified === undefined ? undefined : certified.toLowerCase() === "true",
    support: readBoundedText(annotations, "support", 256),
    repository: readBoundedText(annotations, "repository"),
  };
}

function readSupport(properties: readonly Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined): BundleSupport {
  const annotations = csv?.annotations ?? {};
  const spec = csv?.spec ?? {};
  const modes = getObjectsAt(spec, "installModes").filter((mode) => findMember(mode, "supported") === true);
  return {
    capability: readBoundedText(annotations, "capabilities", 64),
    installModes: collectWords(modes.map((mode) => findMember(mode, "type"))).sort(),
    minKubeVersion: readBoundedText(spec, "minKubeVersion", 64),
    maxOpenShiftVersion: maxOpenShiftVersion(properties),
    ...platformsFrom(csv?.labels ?? {}),
    infrastructureFeatures: infrastructureFeatures(annotations),
  };
}

/** Reads the unparsed value of olm.maxOpenShiftVersion. For a number, returns its original digits if they are known. */
function maxOpenShiftVersion(properties: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  const property = properties.find((one) => findMember(one, "type") === "olm.maxOpenShiftVersion");
  if (!property) return undefined;
  const value = findMember(property, "value");
  if (typeof value === "string") return truncate(value.trim(), 64) || undefined;
  return typeof value === "number" ? String(value) : isObject(value) ? getNumberToken(value) : undefined;
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
