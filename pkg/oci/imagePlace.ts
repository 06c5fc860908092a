import { stat } from "node:fs/promises";
import { join } from "node:path";
import { normalizedImageName } from "../api/imageName.ts";
import { goQuote } from "../golang/quote.ts";
import { formatReference, type Reference } from "./reference.ts";

/** In a layout folder, or in the tar archive of one. */
export interface LayoutPlace {
  readonly kind: "oci" | "oci-archive";
  readonly path: string;
  /** The name of the image there, which may be a whole reference, or its digest; "" for the only one. */
  readonly tag: string;
}

/** Where an image is, or is to be. */
export type ImagePlace = { readonly kind: "registry"; readonly ref: Reference } | LayoutPlace;

const REGISTRY = "docker://";
const LAYOUT = /^(oci|oci-archive):(.*)$/s;
const PINNED = /^([^:]*)@(sha(?:256|384|512):[a-f0-9]+)$/s;
/** The name of a layout's image stands behind the first colon, as skopeo has it. @see https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md org.opencontainers.image.ref.name */
const NAMED = /^([^:]*):([A-Za-z0-9_][A-Za-z0-9_.:@/+-]{0,511})$/s;

/**
 * Reads a place: a reference such as `quay.io/team/app:v1`, with or without `docker://`, or `oci:PATH[:TAG]` or `oci-archive:PATH[:TAG]`, where `@DIGEST` may
 * stand in place of the tag. A reference names its registry and has a tag or a digest.
 * @throws Error that says what is wrong with the text.
 */
export function parsePlace(text: string): ImagePlace {
  const layout = layoutPlace(text);
  if (layout) return layout;
  const bare = text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
  const ref = normalizedImageName(bare);
  if (typeof ref === "string") throw new Error(`${goQuote(text)} is no image: ${ref}`);
  if (ref.tag !== undefined && ref.digest !== undefined) throw new Error(`${goQuote(text)} has both a tag and a digest: leave one out`);
  if (formatReference(ref) !== bare)
    throw new Error(`${goQuote(text)} does not say in which registry it is: ${formatReference(ref)}, or oci:PATH for a folder?`);
  return { kind: "registry", ref };
}

/** Reads a place of a layout; undefined for any other text. @throws Error for one without a path. */
export function layoutPlace(text: string): LayoutPlace | undefined {
  const [, kind, rest = ""] = LAYOUT.exec(text) ?? [];
  if (kind !== "oci" && kind !== "oci-archive") return undefined;
  const [, path = rest, tag = ""] = PINNED.exec(rest) ?? NAMED.exec(rest) ?? [];
  if (path === "") throw new Error(`${goQuote(text)} names no path: ${kind}:PATH[:TAG] is expected`);
  return { kind, path, tag };
}

/** A place to write to, with the tag that it is to have. @throws Error as `parsePlace`, and for a digest, which comes from the content. */
export function parseDestination(text: string): ImagePlace {
  const place = parsePlace(text);
  if (place.kind !== "registry") {
    if (isDigest(place.tag)) throw new Error(`${goQuote(text)} is a digest, and images are written under a tag`);
    return place;
  }
  if (place.ref.digest !== undefined) throw new Error(`${goQuote(text)} is a digest, and images are pushed to a tag`);
  if (place.ref.tag === undefined) throw new Error(`${goQuote(text)} has no tag: name one, such as ${bareText(text)}:latest`);
  return place;
}

/** The place as its text. */
export function formatImagePlace(place: ImagePlace): string {
  if (place.kind === "registry") return formatReference(place.ref);
  const { kind, path, tag } = place;
  return `${kind}:${path}${tag === "" ? "" : `${isDigest(tag) ? "@" : ":"}${tag}`}`;
}

/** Whether the name of an image is its digest. */
export function isDigest(name: string): boolean {
  return /^sha(?:256|384|512):/.test(name);
}

function bareText(text: string): string {
  return text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
}

/** The place in a layout that a text names: `oci:…`, `oci-archive:…`, or a folder that is a layout. @returns undefined for what is none */
export async function layoutNamed(text: string): Promise<LayoutPlace | undefined> {
  const place = layoutPlace(text);
  if (place) return place;
  const isLayout = (await stat(join(text, "oci-layout")).catch(() => undefined))?.isFile() ?? false;
  return isLayout ? { kind: "oci", path: text, tag: "" } : undefined;
}
