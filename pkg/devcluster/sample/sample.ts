import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The package in the sample catalog. */
export const SAMPLE_PACKAGE = "hello-operator";
/** Versions of the sample, oldest first; the first one is deprecated. */
export const SAMPLE_VERSIONS = ["1.0.0", "1.1.0", "1.2.0"] as const;
/** Repository of the images in a registry. */
const SAMPLE_BUNDLE_REPOSITORY = "hello-operator-bundle";
export const SAMPLE_CATALOG_REPOSITORY = "hello-catalog";
export const SAMPLE_CATALOG_TAG = "latest";

/** Folder of the file-based catalog inside its image. */
const CONFIGS = "configs";
/** Prefix of the bundle images in the catalog file, replaced with the registry. */
const PLACEHOLDER = "registry.example.com/";

/** An image to push: its files and labels. */
export interface SampleImage {
  repository: string;
  tag: string;
  /** Contents by slash-separated path without a leading slash. */
  files: Map<string, Uint8Array>;
  labels: Record<string, string>;
}

/** A registry+v1 bundle of the sample operator. */
export interface SampleBundle {
  /** The ClusterServiceVersion's name. */
  name: string;
  version: string;
  files: Map<string, Uint8Array>;
}

/**
 * Returns the bundles of the sample operator, oldest first: each upgrade changes, adds and removes
 * objects.
 */
export function buildSampleBundles(): SampleBundle[] {
  return SAMPLE_VERSIONS.map((version) => ({
    name: `${SAMPLE_PACKAGE}.v${version}`,
    version,
    files: readFolder(join(import.meta.dirname, "bundles", version)),
  }));
}

/**
 * Returns the file-based catalog of the sample: channels stable and candidate, one deprecated
 * bundle.
 * @param registryHost host of the bundle images, for example "127.0.0.1:5000".
 */
export function buildSampleCatalog(registryHost: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const [path, content] of readFolder(join(import.meta.dirname, "catalog"))) {
    const text = Buffer.from(content).toString("utf8");
    const image = `image: ${PLACEHOLDER}${SAMPLE_BUNDLE_REPOSITORY}:`;
    files.set(`${CONFIGS}/${path}`, Buffer.from(text.replaceAll(image, `image: ${registryHost}/${SAMPLE_BUNDLE_REPOSITORY}:`), "utf8"));
  }
  return files;
}

/**
 * Returns all images to push to a registry for installing the sample: the bundles, then the
 * catalog.
 */
export function buildSampleImages(registryHost: string): SampleImage[] {
  const bundles = buildSampleBundles().map(({ version, files }) => ({
    repository: SAMPLE_BUNDLE_REPOSITORY,
    tag: `v${version}`,
    files,
    labels: bundleLabels(version),
  }));
  const catalog: SampleImage = {
    repository: SAMPLE_CATALOG_REPOSITORY,
    tag: SAMPLE_CATALOG_TAG,
    files: buildSampleCatalog(registryHost),
    labels: { "operators.operatorframework.io.index.configs.v1": `/${CONFIGS}` },
  };
  return [...bundles, catalog];
}

/** Returns the labels of a bundle image, which repeat its metadata/annotations.yaml. */
function bundleLabels(version: string): Record<string, string> {
  const prefix = "operators.operatorframework.io.bundle";
  return {
    [`${prefix}.mediatype.v1`]: "registry+v1",
    [`${prefix}.manifests.v1`]: "manifests/",
    [`${prefix}.metadata.v1`]: "metadata/",
    [`${prefix}.package.v1`]: SAMPLE_PACKAGE,
    [`${prefix}.channels.v1`]: version === SAMPLE_VERSIONS[0] ? "stable" : "candidate,stable",
    [`${prefix}.channel.default.v1`]: "stable",
  };
}

function readFolder(folder: string): Map<string, Uint8Array> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return new Map(paths.map((path) => [path.slice(folder.length + 1).replaceAll("\\", "/"), readFileSync(path)]));
}
