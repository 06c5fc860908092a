import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { createJsonMismatch, getGoKind } from "../golang/types.ts";
import { parseYamlDocument } from "../golang/yamlDocument.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { checkAnnotations } from "./limits.ts";

/** Path of the annotations file. Bundles cannot change it. */
export const ANNOTATIONS_FILE = "metadata/annotations.yaml";
/** Annotation and image label with the media type of a bundle. */
export const MEDIA_TYPE_KEY = "operators.operatorframework.io.bundle.mediatype.v1";
/** The only supported media type. */
export const MEDIA_TYPE = "registry+v1";

const PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1";
const MANIFESTS_KEY = "operators.operatorframework.io.bundle.manifests.v1";
const METADATA_KEY = "operators.operatorframework.io.bundle.metadata.v1";
const FOLDERS = { manifests: "manifests", metadata: "metadata" } as const;

/** Folders of a bundle, as slash-separated paths without leading and trailing slash. */
export interface BundleFolders {
  manifests: string;
  metadata: string;
}

/** The content of `metadata/annotations.yaml`. */
export interface BundleAnnotations extends BundleFolders {
  /** Empty if not set. */
  packageName: string;
}

/** The annotations file contains a media type other than registry+v1. */
export class UnsupportedMediaTypeError extends Error {}

/**
 * Reads the annotations of a bundle. As in Go, keys are case-insensitive, and numbers and booleans count as text. Default folders are `manifests` and
 * `metadata`.
 * @throws Error with the message of Go for invalid YAML or a wrong type; Error for a media type other than registry+v1, which Go does not check, and
 * for a folder outside the image.
 * @throws TerminalError Blocked for a file of more than 1 MiB or 20,000 lines and fields.
 */
export function readAnnotationsFile(content: Uint8Array): BundleAnnotations {
  return statedIn(annotationsIn(content));
}

function statedIn(annotations: unknown): BundleAnnotations {
  const packageName = textIn(annotations, PACKAGE_KEY) ?? "";
  const mediaType = textIn(annotations, MEDIA_TYPE_KEY);
  if (mediaType !== undefined && mediaType !== MEDIA_TYPE)
    throw new UnsupportedMediaTypeError(`${ANNOTATIONS_FILE}: ${MEDIA_TYPE_KEY}: ${formatUnsupportedMediaType(mediaType)}`);
  return {
    packageName,
    manifests: folderIn(annotations, MANIFESTS_KEY) ?? FOLDERS.manifests,
    metadata: folderIn(annotations, METADATA_KEY) ?? FOLDERS.metadata,
  };
}

/**
 * Returns the labels of a bundle image: its annotations, and defaults for media type and folders. Numbers and booleans count as text.
 * @throws Error like `readAnnotationsFile`, and with the message of Go if a value is a list or map.
 * @see S0-014
 */
export function toImageLabels(content: Uint8Array): Record<string, string> {
  const annotations = annotationsIn(content);
  const { manifests, metadata } = statedIn(annotations);
  const stated = isObject(annotations) ? Object.keys(annotations).map((key) => [key, textIn(annotations, key.toLowerCase()) ?? ""]) : [];
  const usual = { [MEDIA_TYPE_KEY]: MEDIA_TYPE, [MANIFESTS_KEY]: `${manifests}/`, [METADATA_KEY]: `${metadata}/` };
  return { ...usual, ...Object.fromEntries(stated) };
}

/** Formats the error for an unsupported media type. */
export function formatUnsupportedMediaType(mediaType: string): string {
  return `bundles of media type ${goQuote(truncateExcerpt(mediaType))} are not supported, only ${goQuote(MEDIA_TYPE)} is`;
}

/**
 * Returns the folders whose files are needed to load a bundle: the default ones and those in its annotations. Ignores invalid annotations, which
 * loading the bundle reports.
 */
export function listFolders(annotations: Uint8Array | undefined): string[] {
  const folders: string[] = Object.values(FOLDERS);
  try {
    const stated = annotations && readAnnotationsFile(annotations);
    return [...new Set([...folders, ...(stated ? [stated.manifests, stated.metadata] : [])])];
  } catch {
    return folders;
  }
}

/**
 * Returns the manifests and metadata folders from the annotations. If a folder does not exist but the default folder does, uses the default folder
 * and adds a warning.
 */
export function chooseFolders(paths: Iterable<string>, stated: BundleFolders): BundleFolders & { cautions: string[] } {
  const all = [...paths];
  const exists = (folder: string): boolean => all.some((path) => path.startsWith(`${folder}/`));
  const cautions: string[] = [];
  const chosen = (which: keyof BundleFolders): string => {
    const [usual, folder] = [FOLDERS[which], stated[which]];
    if (folder === usual || exists(folder) || !exists(usual)) return folder;
    cautions.push(
      `${ANNOTATIONS_FILE} sets folder ${goQuote(truncateExcerpt(folder))} for ${which}, which does not exist: ${usual}/ is used instead`,
    );
    return usual;
  };
  return { manifests: chosen("manifests"), metadata: chosen("metadata"), cautions };
}

function annotationsIn(content: Uint8Array): unknown {
  checkAnnotations(ANNOTATIONS_FILE, content);
  return memberIn(parseYamlDocument(new TextDecoder().decode(content)), "annotations");
}

/** Reads a folder. @throws Error if it is not a valid path inside the image. */
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
    `${ANNOTATIONS_FILE}: ${key}: ${goQuote(truncateExcerpt(stated))} ${fault}: it must be a folder in the bundle, such as ${FOLDERS.manifests}/`,
  );
}

/** Reads a text. Numbers and booleans count as text, null as missing. @throws Error with the message of Go for a list or map. */
function textIn(annotations: unknown, key: string): string | undefined {
  const value = memberIn(annotations, key) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  throw wrongType(value, "string");
}

/** Returns a field of a map with a case-insensitive key. If several match, returns the last, as Go's decoder does. */
function memberIn(value: unknown, key: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (getGoKind(value) !== "map") throw wrongType(value, "registry.AnnotationsFile");
  return Object.entries(value).findLast(([name]) => name.toLowerCase() === key)?.[1];
}

function wrongType(value: unknown, goName: string): Error {
  return new Error(`error unmarshaling JSON: while decoding JSON: ${createJsonMismatch(value, goName).message}`);
}
