import { normalizedImageName } from "../../api/imageName.ts";
import { goQuoted } from "../quote.ts";
import { type Reference, referenceText } from "../reference.ts";

/** Where an image is, or is to be: in a registry, in a layout folder, or in the tar archive of one. */
export type ImagePlace =
  | { readonly kind: "registry"; readonly ref: Reference }
  | { readonly kind: "oci" | "oci-archive"; readonly path: string; readonly tag: string };

const REGISTRY = "docker://";
const LAYOUT = /^(oci|oci-archive):(.*)$/s;
/** The tag of a layout's image stands behind the last colon, which is no part of its path. */
const TAGGED = /^(.+?):([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$/s;

/**
 * Reads a place: a reference such as `quay.io/team/app:v1`, with or without `docker://`, or `oci:PATH[:TAG]` or `oci-archive:PATH[:TAG]`. A reference
 * names its registry and has a tag or a digest.
 * @throws Error that says what is wrong with the text.
 */
export function parsePlace(text: string): ImagePlace {
  const [, kind, rest = ""] = LAYOUT.exec(text) ?? [];
  if (kind === "oci" || kind === "oci-archive") {
    const [, path = rest, tag = ""] = TAGGED.exec(rest) ?? [];
    if (path === "") throw new Error(`${goQuoted(text)} names no path: ${kind}:PATH[:TAG] is expected`);
    return { kind, path, tag };
  }
  const bare = text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
  const ref = normalizedImageName(bare);
  if (typeof ref === "string") throw new Error(`${goQuoted(text)} is no image: ${ref}`);
  if (ref.tag !== undefined && ref.digest !== undefined) throw new Error(`${goQuoted(text)} has both a tag and a digest: leave one out`);
  if (referenceText(ref) !== bare)
    throw new Error(`${goQuoted(text)} does not say in which registry it is: ${referenceText(ref)}, or oci:PATH for a folder?`);
  return { kind: "registry", ref };
}

/** A place to write to, with the tag that it is to have. @throws Error as `parsePlace`, and for a digest, which comes from the content. */
export function parseDestination(text: string): ImagePlace {
  const place = parsePlace(text);
  if (place.kind !== "registry") return place;
  if (place.ref.digest !== undefined) throw new Error(`${goQuoted(text)} is a digest, and images are pushed to a tag`);
  if (place.ref.tag === undefined) throw new Error(`${goQuoted(text)} has no tag: name one, such as ${bareText(text)}:latest`);
  return place;
}

/** The place as its text. */
export function placeText(place: ImagePlace): string {
  if (place.kind === "registry") return referenceText(place.ref);
  return `${place.kind}:${place.path}${place.tag === "" ? "" : `:${place.tag}`}`;
}

function bareText(text: string): string {
  return text.startsWith(REGISTRY) ? text.slice(REGISTRY.length) : text;
}
