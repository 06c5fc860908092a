import { type ImageName, parseImageName } from "../../api/imageName.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Computes the mirror tag of an image that is referenced by digest: the 32-bit FNV-1a hash of its whole reference, in hexadecimal without leading
 * zeros. The tag protects the image from garbage collection and is the same in every run.
 * @see S0-109, oc adm catalog mirror
 */
export function computeMirrorTag(reference: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(reference)) hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  return hash.toString(16);
}

/** The destination of a mirror. */
export interface MirrorTarget {
  /** host[:port] */
  readonly registry: string;
  /** Path prefix of repositories; may be empty. */
  readonly prefix: string;
}

/** An image and its destination. */
export interface MirroredImage {
  /** The full reference, by digest if it has one, such as "quay.io/team/app@sha256:…". */
  readonly source: string;
  /** "registry/repository" of the source. */
  readonly sourceRepository: string;
  /** "registry/repository" of the mirror. */
  readonly repository: string;
  readonly tag: string;
  /** Digest of the source; undefined for a source by tag. */
  readonly digest: string | undefined;
}

/** An invalid image reference. */
export interface NoImage {
  readonly text: string;
  readonly reason: string;
}

/**
 * Parses a destination such as `registry.example.com:5000/path`.
 * @throws Error if it is invalid.
 */
export function parseTarget(text: string): MirrorTarget {
  const bare = text.replace(/^docker:\/\//, "").replace(/\/+$/, "");
  const name = parseImageName(`${bare}/x`);
  const hasHost = typeof name !== "string" && `${name.registry}/${name.repository}` === `${bare}/x`;
  if (!hasHost)
    throw new Error(`invalid mirror ${goQuote(text)}: must have the form REGISTRY[:PORT][/PATH], such as mirror.internal:5000/olm`);
  return { registry: name.registry, prefix: name.repository.slice(0, -"/x".length) };
}

/**
 * Computes the destinations of distinct images, sorted by source. Slashes in the repository become dashes. Images by tag keep their tag, and images
 * by digest get the tag from `computeMirrorTag`. If a reference has a tag and a digest, uses the digest.
 * @param target a registry, or "carried" for a layout.
 * @param catalog the catalog image, which is written last; one of the references can be the catalog itself.
 * @throws Error if two images, or an image and the catalog, have the same destination.
 */
export function mapMirroredImages(
  references: Iterable<string>,
  target: MirrorTarget | "carried",
  catalog?: MirroredImage,
): { images: MirroredImage[]; unusable: NoImage[] } {
  const images = new Map<string, MirroredImage>();
  const unusable = new Map<string, NoImage>();
  const taken = new Map(catalog ? [[formatDestination(catalog), catalog.source]] : []);
  for (const text of references) {
    const name = parseImageName(text);
    if (typeof name === "string") {
      unusable.set(text, { text, reason: name });
      continue;
    }
    const image = target === "carried" ? mapCarriedImage(name) : mapMirroredImage(name, target);
    if (images.has(image.source)) continue;
    images.set(image.source, image);
    const destination = formatDestination(image);
    const other = taken.get(destination);
    if (other !== undefined && other !== image.source)
      throw new Error(
        `${other} and ${image.source} have the same destination ${destination}: mirror them to different registries or paths`,
      );
    taken.set(destination, image.source);
  }
  const bySource = (a: MirroredImage, b: MirroredImage): number => compareText(a.source, b.source);
  return { images: [...images.values()].sort(bySource), unusable: [...unusable.values()] };
}

/** Computes the destination of one image. */
export function mapMirroredImage(name: ImageName, target: MirrorTarget): MirroredImage {
  const { registry, repository, digest } = name;
  const sourceRepository = `${registry}/${repository}`;
  const tag = name.tag ?? "latest";
  const source = digest === undefined ? `${sourceRepository}:${tag}` : `${sourceRepository}@${digest}`;
  return {
    source,
    sourceRepository,
    repository: [target.registry, target.prefix, repository.replaceAll("/", "-")].filter((part) => part !== "").join("/"),
    tag: digest === undefined ? tag : computeMirrorTag(source),
    digest,
  };
}

/** Computes the destination of an image in a layout. The image keeps its repository name. */
export function mapCarriedImage(name: ImageName): MirroredImage {
  const image = mapMirroredImage(name, { registry: "", prefix: "" });
  return { ...image, repository: image.sourceRepository };
}

/** Formats the destination of an image: "registry/repository:tag". */
export function formatDestination({ repository, tag }: Pick<MirroredImage, "repository" | "tag">): string {
  return `${repository}:${tag}`;
}

/** Formats `mapping.txt` for `oc image mirror -f`: a line `source=destination` for each image. @see S0-109 */
export function formatMapping(images: readonly MirroredImage[]): string {
  return images.map((image) => formatMappingLine(image.source, formatDestination(image))).join("");
}

/** Formats a line of `mapping.txt`. */
export function formatMappingLine(source: string, destination: string): string {
  return `${source}=${destination}\n`;
}

/** Formats `images.txt`: a line for each source. */
export function formatImages(images: readonly MirroredImage[]): string {
  return images.map(({ source }) => `${source}\n`).join("");
}
