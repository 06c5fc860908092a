import { type ImageName, normalizedImageName } from "../../api/imageName.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * The tag that an image by digest gets in a mirror: the 32-bit FNV-1a hash of its whole reference, in hexadecimal without leading zeros. The tag keeps the
 * image from being collected as garbage, and is the same in every run.
 * @see S0-109, oc adm catalog mirror
 */
export function mirrorTag(reference: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(reference)) hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  return hash.toString(16);
}

/** Where images are mirrored to. */
export interface MirrorTarget {
  /** host[:port] */
  readonly registry: string;
  /** path below it; may be empty */
  readonly prefix: string;
}

/** An image, and where it goes. */
export interface MirroredImage {
  /** the whole reference, by digest where it has one, such as "quay.io/team/app@sha256:…" */
  readonly source: string;
  /** "registry/repository" of the source */
  readonly sourceRepository: string;
  /** "registry/repository" of the mirror */
  readonly repository: string;
  readonly tag: string;
  /** the digest that the source names; a source by tag has none */
  readonly digest: string | undefined;
}

/** A reference that names no image. */
export interface NoImage {
  readonly text: string;
  readonly why: string;
}

/**
 * Reads `registry.example.com:5000/path`.
 * @throws Error for what is no place for repositories.
 */
export function parseTarget(text: string): MirrorTarget {
  const bare = text.replace(/^docker:\/\//, "").replace(/\/+$/, "");
  const name = normalizedImageName(`${bare}/x`);
  const hasHost = typeof name !== "string" && `${name.registry}/${name.repository}` === `${bare}/x`;
  if (!hasHost)
    throw new Error(`${goQuote(text)} is no place to mirror to: REGISTRY[:PORT][/PATH] is expected, such as mirror.internal:5000/olm`);
  return { registry: name.registry, prefix: name.repository.slice(0, -"/x".length) };
}

/**
 * Where images go, each once, sorted by source: slashes of a repository's path become dashes, a tag stays, and an image by digest gets the tag that
 * `mirrorTag` makes of it; "carried" is for a layout on the way. A source with both a tag and a digest is taken by its digest.
 * @throws Error where two images would be one in the mirror.
 */
export function mirroredImages(
  references: Iterable<string>,
  target: MirrorTarget | "carried",
): { images: MirroredImage[]; unusable: NoImage[] } {
  const images = new Map<string, MirroredImage>();
  const unusable = new Map<string, NoImage>();
  const taken = new Map<string, string>();
  for (const text of references) {
    const name = normalizedImageName(text);
    if (typeof name === "string") {
      unusable.set(text, { text, why: name });
      continue;
    }
    const image = target === "carried" ? carriedImage(name) : mirroredImage(name, target);
    if (images.has(image.source)) continue;
    images.set(image.source, image);
    const destination = destinationOf(image);
    const other = taken.get(destination);
    if (other !== undefined) throw new Error(`${other} and ${image.source} would both be ${destination}: mirror them to different places`);
    taken.set(destination, image.source);
  }
  const bySource = (a: MirroredImage, b: MirroredImage): number => compareText(a.source, b.source);
  return { images: [...images.values()].sort(bySource), unusable: [...unusable.values()] };
}

/** Where one image goes. */
export function mirroredImage(name: ImageName, target: MirrorTarget): MirroredImage {
  const { registry, repository, digest } = name;
  const sourceRepository = `${registry}/${repository}`;
  const tag = name.tag ?? "latest";
  const source = digest === undefined ? `${sourceRepository}:${tag}` : `${sourceRepository}@${digest}`;
  return {
    source,
    sourceRepository,
    repository: [target.registry, target.prefix, repository.replaceAll("/", "-")].filter((part) => part !== "").join("/"),
    tag: digest === undefined ? tag : mirrorTag(source),
    digest,
  };
}

/** An image that is carried in a layout, where it keeps the name of its repository. */
export function carriedImage(name: ImageName): MirroredImage {
  const image = mirroredImage(name, { registry: "", prefix: "" });
  return { ...image, repository: image.sourceRepository };
}

/** "registry/repository:tag" */
export function destinationOf({ repository, tag }: Pick<MirroredImage, "repository" | "tag">): string {
  return `${repository}:${tag}`;
}

/** `mapping.txt`: a line `source=destination` for each image, as `oc image mirror -f` reads it. @see S0-109 */
export function mappingText(images: readonly MirroredImage[]): string {
  return images.map((image) => mappingLine(image.source, destinationOf(image))).join("");
}

/** One line of it. */
export function mappingLine(source: string, destination: string): string {
  return `${source}=${destination}\n`;
}

/** `images.txt`: the sources, one a line. */
export function imagesText(images: readonly MirroredImage[]): string {
  return images.map(({ source }) => `${source}\n`).join("");
}
