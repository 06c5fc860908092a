import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The root of the checkout. */
export const ROOT = join(import.meta.dirname, "..");

/** Where releases are published. */
export const PROJECT = {
  name: "olmv1",
  homepage: "https://github.com/olmv1/olmv1",
  /** Repository of the image. */
  image: "ghcr.io/olmv1/olmv1",
  /** Repository of the Helm chart, without its name, as `helm install` needs it. */
  charts: "ghcr.io/olmv1/charts",
} as const;

/** Returns the version of the release, which is that of package.json. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}

/**
 * Returns the version that a tag of git names.
 * @param tag such as "v1.2.0"
 * @param locked version of package-lock.json, which the bills of materials contain
 * @throws Error if package.json or package-lock.json has another version.
 */
export function parseTag(tag: string, version: string, locked: string | undefined): string {
  if (tag !== `v${version}`) throw new Error(`tag ${tag} is not v${version}, the version of package.json. Change one of them`);
  if (locked !== version)
    throw new Error(
      `tag ${tag} is not v${locked}, the version of package-lock.json, which the bills of materials contain. Run npm install --package-lock-only`,
    );
  return version;
}

/** Returns the address of a file of a release. */
export function getDownloadUrl(version: string, file: string): string {
  return `${PROJECT.homepage}/releases/download/v${version}/${file}`;
}

/** Returns the name of the package for npm, as npm packs it. */
export function getNpmFile(version: string): string {
  return `${PROJECT.name}-${version}.tgz`;
}

/** Returns the name of the chart's archive. */
export function getChartFile(version: string): string {
  return `${PROJECT.name}-chart-${version}.tgz`;
}

/** Returns the name of the OCI layout with the chart, in a tar archive. */
export function getChartLayoutFile(version: string): string {
  return `${PROJECT.name}-chart-${version}.oci.tar`;
}

/** The image of a release. */
export interface ImageName {
  readonly repository: string;
  readonly tag: string;
  /** Undefined before the image is pushed. */
  readonly digest?: string | undefined;
}

/** Returns the image of a release. @throws Error if the text is not a digest of SHA-256. */
export function getImage(version: string, digest?: string): ImageName {
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${digest} is not a digest such as sha256:…`);
  return { repository: PROJECT.image, tag: version, digest };
}
