import { stat } from "node:fs/promises";
import { join } from "node:path";
import { parseImageName } from "../api/imageName.ts";
import { goQuote } from "../golang/quote.ts";
import { formatReference, type Reference } from "./reference.ts";

/** An image in an OCI image layout, which is a folder or a tar archive. */
export interface LayoutPlace {
  readonly kind: "oci" | "oci-archive";
  readonly path: string;
  /**
   * Name of the image in the layout (possibly a full reference) or its digest; "" if it is the only
   * image.
   */
  readonly tag: string;
}

/** The location of an image to read or write. */
export type ImagePlace = { readonly kind: "registry"; readonly ref: Reference } | LayoutPlace;

const REGISTRY = "docker://";
const LAYOUT = /^(oci|oci-archive):(.*)$/s;
const PINNED = /^([^:]*)@(sha(?:256|384|512):[a-f0-9]+)$/s;
/**
 * In the location of a layout, the image name follows the first colon, as in skopeo. @see
 * https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
 * org.opencontainers.image.ref.name
 */
const NAMED = /^([^:]*):([A-Za-z0-9_][A-Za-z0-9_.:@/+-]{0,511})$/s;

/**
 * Parses a location: a reference such as `quay.io/team/app:v1`, with or without `docker://`, or
 * `oci:PATH[:TAG]` or `oci-archive:PATH[:TAG]`, with `@DIGEST` as an alternative to the tag. A
 * reference must contain its registry, and cannot have both a tag and a digest.
 * @throws Error that describes the problem.
 */
export function parsePlace(text: string): ImagePlace {
  const layout = parseLayoutPlace(text);
  if (layout) return layout;
  const bare = text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
  const ref = parseImageName(bare);
  if (typeof ref === "string") throw new Error(`${goQuote(text)} is not an image reference: ${ref}`);
  if (ref.tag !== undefined && ref.digest !== undefined)
    throw new Error(`${goQuote(text)} has both a tag and a digest: remove one of them`);
  if (formatReference(ref) !== bare)
    throw new Error(`${goQuote(text)} has no registry: use ${formatReference(ref)}, or oci:PATH for a folder`);
  return { kind: "registry", ref };
}

/**
 * Parses the location of a layout; undefined for any other text. @throws Error if the path is
 * missing.
 */
export function parseLayoutPlace(text: string): LayoutPlace | undefined {
  const [, kind, rest = ""] = LAYOUT.exec(text) ?? [];
  if (kind !== "oci" && kind !== "oci-archive") return undefined;
  const [, path = rest, tag = ""] = PINNED.exec(rest) ?? NAMED.exec(rest) ?? [];
  if (path === "") throw new Error(`${goQuote(text)} has no path: expected ${kind}:PATH[:TAG]`);
  return { kind, path, tag };
}

/**
 * Parses a location to write to, with a tag. @throws Error as `parsePlace`, and for a digest,
 * because the digest depends on the content.
 */
export function parseDestination(text: string): ImagePlace {
  const place = parsePlace(text);
  if (place.kind !== "registry") {
    if (isDigest(place.tag)) throw new Error(`cannot write to ${goQuote(text)}: use a tag instead of a digest`);
    return place;
  }
  if (place.ref.digest !== undefined) throw new Error(`cannot push to ${goQuote(text)}: use a tag instead of a digest`);
  if (place.ref.tag === undefined) throw new Error(`${goQuote(text)} has no tag: add one, for example ${bareText(text)}:latest`);
  return place;
}

/** Formats a location. */
export function formatImagePlace(place: ImagePlace): string {
  if (place.kind === "registry") return formatReference(place.ref);
  const { kind, path, tag } = place;
  return `${kind}:${path}${tag === "" ? "" : `${isDigest(tag) ? "@" : ":"}${tag}`}`;
}

/** Returns whether the name of an image is a digest. */
export function isDigest(name: string): boolean {
  return /^sha(?:256|384|512):/.test(name);
}

function bareText(text: string): string {
  return text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
}

/**
 * Returns whether a text is an image reference by digest. Such a reference selects an image also if a
 * file or folder has its name, so that the content always has the digest.
 */
export function isImageByDigest(text: string): boolean {
  return !parseLayoutPlace(text) && /^[^./][^@]*@sha(?:256|384|512):[a-f0-9]+$/.test(text);
}

/**
 * Parses a location in a layout: `oci:…`, `oci-archive:…`, or the path of a layout folder. @returns
 * undefined for anything else
 */
export async function findLayoutPlace(text: string): Promise<LayoutPlace | undefined> {
  const place = parseLayoutPlace(text);
  if (place) return place;
  if (isImageByDigest(text)) return undefined;
  const isLayout = (await stat(join(text, "oci-layout")).catch(() => undefined))?.isFile() ?? false;
  return isLayout ? { kind: "oci", path: text, tag: "" } : undefined;
}
