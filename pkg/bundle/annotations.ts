import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { goKindOf, jsonMismatch } from "../golang/types.ts";
import { yamlDocument } from "../golang/yamlDocument.ts";
import { excerpt } from "../text/truncate.ts";
import { checkAnnotations } from "./limits.ts";

/** Where a bundle says what it is, whatever folders it names. */
export const ANNOTATIONS_FILE = "metadata/annotations.yaml";
/** The annotation, and the label of images, that says which form a bundle has. */
export const MEDIA_TYPE_KEY = "operators.operatorframework.io.bundle.mediatype.v1";
/** The only form that there is support for. */
export const MEDIA_TYPE = "registry+v1";

const PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1";
const MANIFESTS_KEY = "operators.operatorframework.io.bundle.manifests.v1";
const METADATA_KEY = "operators.operatorframework.io.bundle.metadata.v1";
const FOLDERS = { manifests: "manifests", metadata: "metadata" } as const;

/** Folders of a bundle, slash paths without a slash at either end. */
export interface BundleFolders {
  manifests: string;
  metadata: string;
}

/** What `metadata/annotations.yaml` says. */
export interface BundleAnnotations extends BundleFolders {
  /** Empty when it is not said. */
  packageName: string;
}

/** The annotations file states a media type other than registry+v1. */
export class UnsupportedMediaTypeError extends Error {}

/**
 * Reads the annotations of a bundle. Keys may be of any letter case and a number or boolean counts as the text that it spells, as in Go; folders that
 * are not stated are `manifests` and `metadata`.
 * @throws Error in Go's words for what is no YAML or of the wrong type; in ours for another media type than registry+v1, which Go does not look at,
 * and for a folder that is none of the image.
 * @throws TerminalError Blocked for a file above 1 MiB or 20,000 lines and members.
 */
export function bundleAnnotations(content: Uint8Array): BundleAnnotations {
  return statedIn(annotationsIn(content));
}

function statedIn(annotations: unknown): BundleAnnotations {
  const packageName = textIn(annotations, PACKAGE_KEY) ?? "";
  const mediaType = textIn(annotations, MEDIA_TYPE_KEY);
  if (mediaType !== undefined && mediaType !== MEDIA_TYPE)
    throw new UnsupportedMediaTypeError(`${ANNOTATIONS_FILE}: ${MEDIA_TYPE_KEY}: ${unsupportedMediaType(mediaType)}`);
  return {
    packageName,
    manifests: folderIn(annotations, MANIFESTS_KEY) ?? FOLDERS.manifests,
    metadata: folderIn(annotations, METADATA_KEY) ?? FOLDERS.metadata,
  };
}

/**
 * The labels of a bundle's image: its annotations, with those that say what and where a bundle is where they are not stated. Numbers and booleans count as the
 * texts that they spell.
 * @throws Error as `bundleAnnotations`, and in Go's words for a list or map as a value.
 * @see S0-014
 */
export function annotationLabels(content: Uint8Array): Record<string, string> {
  const annotations = annotationsIn(content);
  const { manifests, metadata } = statedIn(annotations);
  const stated = isObject(annotations) ? Object.keys(annotations).map((key) => [key, textIn(annotations, key.toLowerCase()) ?? ""]) : [];
  const usual = { [MEDIA_TYPE_KEY]: MEDIA_TYPE, [MANIFESTS_KEY]: `${manifests}/`, [METADATA_KEY]: `${metadata}/` };
  return { ...usual, ...Object.fromEntries(stated) };
}

/** Why a bundle of this media type is refused. */
export function unsupportedMediaType(mediaType: string): string {
  return `bundles of media type ${goQuote(excerpt(mediaType))} are not supported, only ${goQuote(MEDIA_TYPE)} is`;
}

/**
 * The folders of which the files are needed to load a bundle: the usual ones and those that its annotations state, as far as these can be read;
 * what is wrong with them is told when the bundle is loaded.
 */
export function foldersToRead(annotations: Uint8Array | undefined): string[] {
  const folders: string[] = Object.values(FOLDERS);
  try {
    const stated = annotations && bundleAnnotations(annotations);
    return [...new Set([...folders, ...(stated ? [stated.manifests, stated.metadata] : [])])];
  } catch {
    return folders;
  }
}

/**
 * Where the files of a bundle lie: in the folders that it states, or where one of these does not exist while the usual one does, there.
 * @returns with a sentence for each folder that is stated in vain.
 */
export function foldersIn(paths: Iterable<string>, stated: BundleFolders): BundleFolders & { cautions: string[] } {
  const all = [...paths];
  const exists = (folder: string): boolean => all.some((path) => path.startsWith(`${folder}/`));
  const cautions: string[] = [];
  const chosen = (which: keyof BundleFolders): string => {
    const [usual, folder] = [FOLDERS[which], stated[which]];
    if (folder === usual || exists(folder) || !exists(usual)) return folder;
    cautions.push(
      `${ANNOTATIONS_FILE} states folder ${goQuote(excerpt(folder))} for its ${which}, which does not exist, so ${usual}/ is read`,
    );
    return usual;
  };
  return { manifests: chosen("manifests"), metadata: chosen("metadata"), cautions };
}

function annotationsIn(content: Uint8Array): unknown {
  checkAnnotations(ANNOTATIONS_FILE, content);
  return memberIn(yamlDocument(new TextDecoder().decode(content)), "annotations");
}

/** @throws Error for what can be no folder of the image. */
function folderIn(annotations: unknown, key: string): string | undefined {
  const stated = textIn(annotations, key);
  if (stated === undefined || stated === "") return undefined;
  const segments = stated.replace(/^\.\//, "").replace(/\/$/, "").split("/");
  const fault = stated.startsWith("/")
    ? "is absolute"
    : segments.includes("..")
      ? 'has a segment ".."'
      : segments.some((segment) => segment === "" || segment === ".")
        ? "has an empty segment"
        : undefined;
  if (fault === undefined) return segments.join("/");
  throw new Error(
    `${ANNOTATIONS_FILE}: ${key}: ${goQuote(excerpt(stated))} ${fault}: it has to be a folder of the bundle, such as ${FOLDERS.manifests}/`,
  );
}

/** A number or boolean counts as the text that it spells; null as none. @throws Error in Go's words for a list or map. */
function textIn(annotations: unknown, key: string): string | undefined {
  const value = memberIn(annotations, key) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  throw wrongType(value, "string");
}

/** The member of a map (or of nothing) under `key` in any letter case, as Go's decoder takes it; the last one counts. */
function memberIn(value: unknown, key: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (goKindOf(value) !== "map") throw wrongType(value, "registry.AnnotationsFile");
  return Object.entries(value).findLast(([name]) => name.toLowerCase() === key)?.[1];
}

function wrongType(value: unknown, goName: string): Error {
  return new Error(`error unmarshaling JSON: while decoding JSON: ${jsonMismatch(value, goName).message}`);
}
