import { type RuleOptions, clusterCatalog, contentSourcePolicy, digestMirrorSet, registriesConf, tagMirrorSet } from "../../../pkg/authoring/mirror/mirrorRules.ts";
import { type MirroredImage, imagesText, mappingText } from "../../../pkg/authoring/mirror/mirroredImages.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What the files of a mirror are about. */
export interface MirrorFiles extends RuleOptions {
  readonly images: readonly MirroredImage[];
  /** the mirrored catalog, as a ClusterCatalog names it */
  readonly catalog: string;
}

/** The files of a mirror by name; none that would be empty. */
export function mirrorFiles({ images, catalog, ...options }: MirrorFiles): ReadonlyMap<string, string> {
  const files: [name: string, text: string][] = [
    ["mapping.txt", mappingText(images)],
    ["images.txt", imagesText(images)],
    ["registries.conf", registriesConf(images, options)],
    ["imageContentSourcePolicy.yaml", contentSourcePolicy(images, options)],
    ["imageDigestMirrorSet.yaml", digestMirrorSet(images, options)],
    ["imageTagMirrorSet.yaml", tagMirrorSet(images, options)],
    ["clusterCatalog.yaml", clusterCatalog(options.name, catalog)],
  ];
  return new Map(files.filter(([, text]) => text !== ""));
}

/** Writes them. @returns their paths */
export async function writeFiles(dir: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  await mkdir(dir, { recursive: true });
  const paths: string[] = [];
  for (const [name, text] of files) {
    const path = join(dir, name);
    await writeFile(path, text);
    paths.push(path);
  }
  return paths;
}
