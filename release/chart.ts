import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseYaml } from "../pkg/golang/yaml.ts";
import { computeDigest } from "../pkg/oci/digest.ts";
import { type Descriptor, MediaType } from "../pkg/oci/manifest.ts";
import { LayoutStore } from "../pkg/oci/store/layoutStore.ts";
import { createFile, listFolder, packFiles } from "./archives.ts";
import { type ImageName, PROJECT, ROOT } from "./project.ts";

/** Folder of the chart. */
const CHART = join(ROOT, "config/helm/olmv1");
/** Tag under which Artifact Hub reads the metadata of the chart's repository. */
const ARTIFACT_HUB_TAG = "artifacthub.io";

/** Media types of a chart in a registry. @see https://github.com/helm/helm/blob/v3.19.0/pkg/registry/constants.go */
const CHART_TYPES = {
  config: "application/vnd.cncf.helm.config.v1+json",
  layer: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
} as const;
/** Media types of repository metadata. @see https://artifacthub.io/docs/topics/repositories/helm-charts/#oci-support */
const ARTIFACT_HUB_TYPES = {
  config: "application/vnd.cncf.artifacthub.config.v1+yaml",
  layer: "application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml",
} as const;

/**
 * Packs the chart as `helm package` does, but without times: the same files always have the same bytes.
 * @param image default image of the packed chart
 * @throws Error if values.yaml has no default image.
 */
export async function packChart(image: ImageName): Promise<Buffer> {
  const values = setImage(await readFile(join(CHART, "values.yaml"), "utf8"), image);
  const files = await listFolder(CHART, `${PROJECT.name}/`, (path) => path !== "values.yaml");
  return packFiles([...files, createFile(`${PROJECT.name}/values.yaml`, values)]);
}

/** Replaces the image that a checkout uses, and keeps all comments. */
function setImage(values: string, { repository, tag, digest }: ImageName): string {
  const pattern = /^(# .*\n)image:\n {2}repository: .*\n {2}tag: .*\n( {2}#.*\n) {2}digest: .*\n/m;
  if (!pattern.test(values)) throw new Error(`values.yaml has no image with repository, tag and digest. Add them in this order`);
  return values.replace(
    pattern,
    (_all, _comment, about: string) =>
      `# The image of this release.\nimage:\n  repository: ${repository}\n  tag: ${tag}\n${about}  digest: "${digest ?? ""}"\n`,
  );
}

/** Fields of Chart.yaml that a registry shows. */
interface ChartMetadata {
  readonly version: string;
  readonly description: string;
}

/**
 * Writes a packed chart to an OCI image layout as `helm push` sends it to a registry, but without the time of the push, and the metadata for Artifact Hub.
 * @param dir folder of the layout
 * @returns the digest of the chart's manifest
 */
export async function writeChartLayout(dir: string, chart: Buffer, signal: AbortSignal): Promise<string> {
  const layout = new LayoutStore(dir, `oci:${dir}`);
  await layout.create();
  const metadata = parseYaml(await readFile(join(CHART, "Chart.yaml"), "utf8")) as ChartMetadata;
  const annotations = {
    "org.opencontainers.image.description": metadata.description,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.source": PROJECT.homepage,
    "org.opencontainers.image.title": PROJECT.name,
    "org.opencontainers.image.version": metadata.version,
  };
  const config = Buffer.from(JSON.stringify(metadata));
  const digest = await writeArtifact(layout, { tag: metadata.version, types: CHART_TYPES, config, layer: chart, annotations }, signal);
  const repository = await readFile(join(ROOT, "release/artifacthub-repo.yml"));
  const empty = Buffer.from("{}");
  const described = { tag: ARTIFACT_HUB_TAG, types: ARTIFACT_HUB_TYPES, config: empty, layer: repository, annotations: {} };
  await writeArtifact(layout, described, signal);
  return digest;
}

/** Content of an artifact with one layer. */
interface Artifact {
  readonly tag: string;
  readonly types: { readonly config: string; readonly layer: string };
  readonly config: Buffer;
  readonly layer: Buffer;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Adds an artifact to a layout, and returns the digest of its manifest. */
async function writeArtifact(layout: LayoutStore, artifact: Artifact, signal: AbortSignal): Promise<string> {
  const { tag, types, annotations } = artifact;
  const config = await putBlob(layout, artifact.config, types.config, signal);
  const layers = [await putBlob(layout, artifact.layer, types.layer, signal)];
  const body = { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers, annotations };
  const bytes = Buffer.from(JSON.stringify(body));
  const digest = computeDigest(bytes);
  await layout.putManifest({ bytes, mediaType: MediaType.ociManifest, digest }, tag, signal);
  return digest;
}

async function putBlob(layout: LayoutStore, bytes: Buffer, mediaType: string, signal: AbortSignal): Promise<Descriptor> {
  const blob = { mediaType, digest: computeDigest(bytes), size: bytes.byteLength };
  await layout.putBlob(blob, () => createFile("", bytes).open(), { signal });
  return blob;
}
