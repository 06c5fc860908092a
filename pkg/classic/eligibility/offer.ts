import { compareVersions, parseVersion, type Version } from "../../version/version.ts";
import type { InstalledCsv } from "../installedCsv.ts";

/** A catalog that has the installed bundle. */
export interface BundleOffer {
  readonly catalog: string;
  readonly priority: number;
  readonly version: string;
  readonly image: string;
  /** Channels with the bundle. */
  readonly channels: readonly string[];
  /** What the catalog is read from, as its spec says. */
  readonly catalogImage?: string | undefined;
}

/** What a cluster's catalogs say about the package. */
export interface PackageOffers {
  /** Catalogs that have the package, whatever its versions are. */
  readonly catalogs: readonly string[];
  /** Those with the installed bundle. */
  readonly bundles: readonly BundleOffer[];
  /** Catalogs that could not be read, each with why. */
  readonly unread: readonly string[];
}

/** Offers whose version is what the ClusterServiceVersion says, build metadata aside; all of them where it says none that could be read. */
export function sameBundles({ bundles }: PackageOffers, { version }: Pick<InstalledCsv, "version">): readonly BundleOffer[] {
  const installed = versionIn(version);
  return bundles.filter((offer) => {
    const offered = versionIn(offer.version);
    return !installed || !offered || compareVersions(offered, installed) === 0;
  });
}

function versionIn(text: string): Version | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}
