import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { listMember, objectAt, textMember } from "../golang/members.ts";
import type { ChannelEntry } from "../fbc/types.ts";
import { firstDocument } from "../authoring/render/bundleObjects.ts";
import { type BundleIdentity, type RenderedBundle, renderBundle } from "../authoring/render/renderBundle.ts";
import type { PackageManifest } from "./packageManifests.ts";

/** One version of an operator: the folder it lies in, what a catalog has for it, and what it updates. */
export interface PackageVersion {
  readonly folder: string;
  readonly rendered: RenderedBundle;
  readonly entry: ChannelEntry;
  readonly version: string;
  /** The files of the bundle that it makes. */
  readonly files: BundleFiles;
}

const SKIP_RANGE = "olm.skipRange";

/**
 * The versions in the folders of a package, by the name of their ClusterServiceVersion. A folder without exactly one of these, or without a definition that
 * it owns, and a name or version that two folders have, are faults.
 * @param folders the files of each by name.
 * @see requirements.md S0-008, S4-13, S4-14
 */
export function packageVersions(
  manifest: PackageManifest,
  folders: ReadonlyMap<string, BundleFiles>,
  imageOf: (identity: BundleIdentity) => string,
): { versions: Map<string, PackageVersion>; faults: string[] } {
  const versions = new Map<string, PackageVersion>();
  const faults: string[] = [];
  for (const [folder, files] of folders) {
    try {
      const found = versionIn(manifest, folder, files, imageOf);
      const same = [...versions.values()].find(({ entry, version }) => entry.name === found.entry.name || version === found.version);
      if (same === undefined) versions.set(found.entry.name, found);
      else
        faults.push(
          `folders ${goQuote(same.folder)} and ${goQuote(folder)} hold the same version ${goQuote(found.version)}, or one name: a version has one ClusterServiceVersion`,
        );
    } catch (err) {
      faults.push(`folder ${goQuote(folder)}: ${messageOf(err)}`);
    }
  }
  return { versions, faults };
}

function versionIn(
  manifest: PackageManifest,
  folder: string,
  files: BundleFiles,
  imageOf: (identity: BundleIdentity) => string,
): PackageVersion {
  const csvs = [...files].filter(([, content]) => isCsv(content)).map(([name]) => name);
  if (csvs.length !== 1)
    throw new Error(
      `it holds ${csvs.length} ClusterServiceVersions${csvs.length > 1 ? ` (${csvs.sort().join(", ")})` : ""}, where a version has one`,
    );
  const bundle = bundleFiles(manifest, files);
  const rendered = renderBundle(bundle, imageOf);
  const { csv, meta } = rendered;
  if (meta.name === "") throw new Error("its ClusterServiceVersion has no name");
  const spec = objectAt(csv, "spec");
  return { folder, rendered, entry: entryOf(meta.name, csv), version: textMember(spec, "version"), files: bundle };
}

/** What a ClusterServiceVersion says that it updates. */
function entryOf(name: string, csv: JsonObject): ChannelEntry {
  const spec = objectAt(csv, "spec");
  const replaces = textMember(spec, "replaces");
  const skips = listMember(spec, "skips").filter((skip): skip is string => typeof skip === "string" && skip !== "");
  const skipRange = textMember(objectAt(objectAt(csv, "metadata"), "annotations"), SKIP_RANGE);
  return {
    name,
    ...(replaces === "" ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips }),
    ...(skipRange === "" ? {} : { skipRange }),
  };
}

/** The same manifests as a bundle of registry+v1. */
function bundleFiles({ packageName, channels, defaultChannel }: PackageManifest, files: BundleFiles): BundleFiles {
  const key = "operators.operatorframework.io.bundle.";
  const annotations = {
    [`${key}mediatype.v1`]: "registry+v1",
    [`${key}manifests.v1`]: "manifests/",
    [`${key}metadata.v1`]: "metadata/",
    [`${key}package.v1`]: packageName,
    [`${key}channels.v1`]: channels.map(({ name }) => name).join(","),
    ...(defaultChannel === "" ? {} : { [`${key}channel.default.v1`]: defaultChannel }),
  };
  const lines = Object.entries(annotations).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  const bundle = new Map([...files].map(([name, content]) => [`manifests/${name}`, content]));
  return bundle.set("metadata/annotations.yaml", new TextEncoder().encode(`annotations:\n${lines.join("")}`));
}

function isCsv(content: Uint8Array): boolean {
  try {
    const { document } = firstDocument(content);
    return isObject(document) && document["kind"] === "ClusterServiceVersion";
  } catch {
    return false;
  }
}
