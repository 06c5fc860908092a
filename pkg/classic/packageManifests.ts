import { isObject } from "../api/jsonObject.ts";
import { firstDocument } from "../authoring/render/bundleObjects.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { memberOf, objectMembers, textMember } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";

/** A channel of the package manifest format: its newest version, from which the others follow by what replaces what. */
export interface ManifestChannel {
  readonly name: string;
  readonly currentCSV: string;
}

/** The file `<name>.package.yaml` of the package manifest format. */
export interface PackageManifest {
  readonly packageName: string;
  readonly channels: readonly ManifestChannel[];
  /** The only channel where none is stated; empty where there are several. */
  readonly defaultChannel: string;
}

/** The package manifests among the files of a folder, by path: objects with a `packageName` and without a kind. What cannot be read is none. */
export function packageManifestsIn(files: BundleFiles): Map<string, PackageManifest> {
  const found = new Map<string, PackageManifest>();
  for (const path of [...files.keys()].filter((one) => !one.includes("/")).sort()) {
    const manifest = manifestIn(files.get(path) ?? new Uint8Array());
    if (manifest) found.set(path, manifest);
  }
  return found;
}

/**
 * The package manifest in a folder.
 * @throws Error where there is none, or several.
 * @see requirements.md S0-006, S0-007
 */
export function packageManifestIn(files: BundleFiles): PackageManifest {
  const [first, second] = packageManifestsIn(files);
  if (first === undefined) throw new Error("there is no package manifest (a file such as etcd.package.yaml with packageName and channels)");
  if (second !== undefined) throw new Error(`there are two package manifests, ${goQuote(first[0])} and ${goQuote(second[0])}`);
  return first[1];
}

function manifestIn(content: Uint8Array): PackageManifest | undefined {
  let document: unknown;
  try {
    ({ document } = firstDocument(content));
  } catch {
    return undefined;
  }
  if (!isObject(document) || memberOf(document, "kind") !== undefined) return undefined;
  const packageName = textMember(document, "packageName");
  if (packageName === "") return undefined;
  const channels = objectMembers(document, "channels").map((channel) => ({
    name: channelName(memberOf(channel, "name")),
    currentCSV: textMember(channel, "currentCSV"),
  }));
  const stated = channelName(memberOf(document, "defaultChannel"));
  return { packageName, channels, defaultChannel: stated || (channels.length === 1 ? (channels[0]?.name ?? "") : "") };
}

/** Channels are often called after a version, and then are numbers where the quotes are forgotten. */
function channelName(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
