import * as z from "zod";
import { tryParseJson } from "../../golang/json.ts";
import { formatList } from "../../text/lists.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import { DescriptorShape, MediaType } from "../manifest.ts";

/** The annotation with the name of an entry in `index.json`, such as a tag. */
export const REF_NAME = "org.opencontainers.image.ref.name";

/** Maximum size of `index.json`, and maximum number of images in it. */
export const INDEX_LIMITS = { bytes: 64 * 1024 * 1024, entries: 200_000 };
/** Maximum number of names in an error. */
const MAX_NAMES = 20;

const Entry = z.looseObject({ ...DescriptorShape.shape, annotations: z.record(z.string(), z.string()).optional() });
const IndexFile = z.looseObject({ schemaVersion: z.literal(2), manifests: z.array(Entry) });

/** An image in `index.json`. */
export type LayoutEntry = z.output<typeof Entry>;

/**
 * Parses `index.json`.
 * @throws ImageContentError if it is invalid or exceeds a limit
 * @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md#indexjson-file
 */
export function parseLayoutIndex(text: string): LayoutEntry[] {
  const parsed = IndexFile.safeParse(tryParseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ImageContentError(
      `index.json is malformed: ${[issue?.path.join(".") ?? "", issue?.message].filter((part) => part).join(": ")}`,
    );
  }
  const { manifests } = parsed.data;
  if (manifests.length > INDEX_LIMITS.entries) throw new RefusedError(`index.json lists more than ${INDEX_LIMITS.entries} images`);
  return manifests;
}

/** Formats `index.json`. */
export function formatLayoutIndex(manifests: readonly LayoutEntry[]): string {
  return JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests });
}

/** Returns the name of an image; undefined if it has none. */
export function getEntryName({ annotations }: LayoutEntry): string | undefined {
  return annotations?.[REF_NAME];
}

/** Lists the existing names for a message; "" for none. */
export function formatAvailableNames(entries: readonly LayoutEntry[]): string {
  const names = [...new Set(entries.flatMap((entry) => getEntryName(entry) ?? []))];
  return names.length === 0 ? "" : `; available: ${formatList(names, { max: MAX_NAMES })}`;
}
