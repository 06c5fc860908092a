import {
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import { findLastDeployed, type ReleaseRecord } from "./record.ts";

/** The bundle that a release records. */
export interface InstalledBundle {
  packageName: string;
  name: string;
  version: string;
  /** Only set if the release was written with an explicit bundle release. */
  release?: string | undefined;
  /** Reference of the bundle's image, as in the catalog. */
  image: string;
  /** The bundle's properties in the catalog at installation or later, as `formatKeptProperties` writes them; absent if no catalog was used. */
  properties?: string;
  /** Digest of the pulled image; absent if the release does not record it. */
  imageDigest?: string | undefined;
  /** Warnings about the choice of the bundle, one sentence each; absent if there are none. */
  cautions?: readonly string[] | undefined;
}

/** Returns the bundle of the last completely applied release, if there is one. */
export function findInstalledBundle(history: readonly ReleaseRecord[]): InstalledBundle | undefined {
  const deployed = findLastDeployed(history);
  return deployed && readInstalledBundle(deployed);
}

/** Returns the bundle of a release, read from the labels in its record. */
export function readInstalledBundle(release: ReleaseRecord): InstalledBundle {
  const { labels, properties, imageDigest, cautions } = release;
  return {
    packageName: labels[LABEL_PACKAGE_NAME] ?? "",
    name: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    image: labels[LABEL_BUNDLE_REFERENCE] ?? "",
    release: labels[LABEL_BUNDLE_RELEASE],
    ...(properties === undefined ? {} : { properties }),
    ...(imageDigest === undefined ? {} : { imageDigest }),
    ...(cautions === undefined ? {} : { cautions }),
  };
}

/** Returns the labels from which `readInstalledBundle` reads `bundle`. */
export function toReleaseLabels(bundle: InstalledBundle): Record<string, string> {
  const labels: Record<string, string> = {
    [LABEL_PACKAGE_NAME]: bundle.packageName,
    [LABEL_BUNDLE_NAME]: bundle.name,
    [LABEL_BUNDLE_VERSION]: bundle.version,
    [LABEL_BUNDLE_REFERENCE]: bundle.image,
  };
  return bundle.release === undefined ? labels : { ...labels, [LABEL_BUNDLE_RELEASE]: bundle.release };
}
