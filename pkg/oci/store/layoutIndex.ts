import * as z from "zod";
import { formatList } from "../../text/lists.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import { DescriptorShape, MediaType } from "../manifest.ts";

/** The annotation of an entry of `index.json` that is its name, such as a tag. */
export const REF_NAME = "org.opencontainers.image.ref.name";

/** So much of `index.json` is read, and so many images may stand there. */
export const INDEX_LIMITS = { bytes: 64 * 1024 * 1024, entries: 200_000 };
/** So many names are told in an error. */
const NAMES_TOLD = 20;

const Entry = z.looseObject({ ...DescriptorShape.shape, annotations: z.record(z.string(), z.string()).optional() });
const IndexFile = z.looseObject({ schemaVersion: z.literal(2), manifests: z.array(Entry) });

/** An image that `index.json` names. */
export type LayoutEntry = z.output<typeof Entry>;

/**
 * Reads `index.json`.
 * @throws ImageContentError for what is none, or names too much
 * @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md#indexjson-file
 */
export function parseLayoutIndex(text: string): LayoutEntry[] {
  const parsed = IndexFile.safeParse(jsonOf(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ImageContentError(
      `index.json is malformed: ${[issue?.path.join(".") ?? "", issue?.message].filter((part) => part).join(": ")}`,
    );
  }
  const { manifests } = parsed.data;
  if (manifests.length > INDEX_LIMITS.entries) throw new RefusedError(`index.json names more than ${INDEX_LIMITS.entries} images`);
  return manifests;
}

/** The text of `index.json`. */
export function layoutIndexText(manifests: readonly LayoutEntry[]): string {
  return JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests });
}

/** The name of an image; undefined for one without. */
export function nameIn({ annotations }: LayoutEntry): string | undefined {
  return annotations?.[REF_NAME];
}

/** The names that there are, for a message; "" for none. */
export function namesText(entries: readonly LayoutEntry[]): string {
  const names = [...new Set(entries.flatMap((entry) => nameIn(entry) ?? []))];
  return names.length === 0 ? "" : `; there ${names.length === 1 ? "is" : "are"} ${formatList(names, { max: NAMES_TOLD })}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
