import {
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import { lastDeployed, type ReleaseRecord } from "./record.ts";

/** What a release says about the bundle it holds. */
export interface InstalledBundle {
  packageName: string;
  name: string;
  version: string;
  /** Present only where the release was written with an explicit bundle release. */
  release?: string | undefined;
  /** Reference of the image the bundle came from, as the catalog named it. */
  image: string;
  /** What the catalog says, or said when it was installed, as `keptProperties` writes it; absent where no catalog was asked. */
  properties?: string;
  /** Digest of that image as it was pulled; absent where a release does not tell it. */
  imageDigest?: string | undefined;
  /** What was disregarded when the bundle was chosen, a sentence each; absent where there was nothing. */
  cautions?: readonly string[] | undefined;
}

/** The bundle of the last release that was applied completely, if there is one. */
export function installedOf(history: readonly ReleaseRecord[]): InstalledBundle | undefined {
  const deployed = lastDeployed(history);
  return deployed && installedFrom(deployed);
}

/** The bundle that a release holds, from the labels it was written with. */
export function installedFrom(release: ReleaseRecord): InstalledBundle {
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

/** The labels that make `installedFrom` give back `bundle`. */
export function labelsFrom(bundle: InstalledBundle): Record<string, string> {
  const labels: Record<string, string> = {
    [LABEL_PACKAGE_NAME]: bundle.packageName,
    [LABEL_BUNDLE_NAME]: bundle.name,
    [LABEL_BUNDLE_VERSION]: bundle.version,
    [LABEL_BUNDLE_REFERENCE]: bundle.image,
  };
  return bundle.release === undefined ? labels : { ...labels, [LABEL_BUNDLE_RELEASE]: bundle.release };
}
