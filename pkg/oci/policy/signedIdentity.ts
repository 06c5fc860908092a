import { isNamePrefix, parseImageName } from "../../api/imageName.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatReference, formatRepository, parse, type Reference } from "../reference.ts";
import { FormatError, readKnownMembers, requireMembers, requireText } from "../signers/strictJson.ts";

/**
 * The identity that a signature must contain: `signedIdentity` of containers-policy.json(5), and
 * `matchDigest`, an extension of this project.
 */
export type SignedIdentity =
  /** any identity or none: a signed digest is sufficient */
  | { readonly type: "matchDigest" }
  | { readonly type: "matchExact" | "matchRepoDigestOrExact" | "matchRepository" }
  | { readonly type: "exactReference" | "exactRepository"; readonly reference: Reference }
  | { readonly type: "remapIdentity"; readonly prefix: string; readonly signedPrefix: string };

/** The default for `signedIdentity`. */
export const DEFAULT_IDENTITY: SignedIdentity = { type: "matchRepoDigestOrExact" };

/**
 * Parses a `signedIdentity`.
 * @throws FormatError with the text of containers/image
 */
export function parseSignedIdentity(value: unknown): SignedIdentity {
  const type = requireText(requireMembers(value), "type");
  switch (type) {
    case "matchDigest":
    case "matchExact":
    case "matchRepoDigestOrExact":
    case "matchRepository":
      readKnownMembers(value, ["type"]);
      return { type };
    case "exactReference":
    case "exactRepository":
      return { type, reference: exactName(type, value) };
    case "remapIdentity": {
      const members = readKnownMembers(value, ["type", "prefix", "signedPrefix"]);
      return { type, prefix: namePrefix(members, "prefix"), signedPrefix: namePrefix(members, "signedPrefix") };
    }
    default:
      throw new FormatError(`Unknown policy reference match type ${goQuote(type)}`);
  }
}

function exactName(type: "exactReference" | "exactRepository", value: unknown): Reference {
  const key = type === "exactReference" ? "dockerReference" : "dockerRepository";
  const text = requireText(readKnownMembers(value, ["type", key]), key);
  const name = parseImageName(text);
  if (typeof name === "string") throw new FormatError(`Invalid format of ${key} ${goQuote(text)}: ${name}`);
  if (type === "exactReference" && isNameOnly(name)) throw new FormatError(`${key} ${goQuote(text)} contains neither a tag nor digest`);
  return name;
}

function namePrefix(members: ReadonlyMap<string, unknown>, key: string): string {
  const text = requireText(members, key);
  if (!isNamePrefix(text)) throw new FormatError(`prefix ${goQuote(text)} is not valid`);
  return text;
}

/**
 * Returns whether a signature with identity `signed` applies to an image.
 * @param image requested reference, before mirrors apply; with a tag or a digest
 * @param signed untrusted; undefined if the signature has none
 */
export function matchesIdentity(rule: SignedIdentity, image: Reference, signed: string | undefined): boolean {
  if (rule.type === "matchDigest") return true;
  if (signed === undefined) return false;
  const stated = parseImageName(signed);
  if (typeof stated === "string") return false;
  if (rule.type === "matchRepository") return formatRepository(stated) === formatRepository(image);
  if (rule.type === "exactRepository") return formatRepository(stated) === formatRepository(rule.reference);
  if (rule.type === "exactReference") return isExactly(rule.reference, stated);
  if (rule.type === "matchExact") return isExactly(image, stated);
  return isRepositoryOrExactly(rule.type === "remapIdentity" ? remap(rule, image) : image, stated);
}

function isExactly(required: Reference, stated: Reference): boolean {
  return !isNameOnly(required) && !isNameOnly(stated) && formatReference(required) === formatReference(stated);
}

/**
 * For an image with a digest, the digest is compared elsewhere, so the tag in the signature is
 * ignored.
 */
function isRepositoryOrExactly(required: Reference | undefined, stated: Reference): boolean {
  if (!required || isNameOnly(stated)) return false;
  if (required.tag !== undefined) return formatReference(required) === formatReference(stated);
  return required.digest !== undefined && formatRepository(required) === formatRepository(stated);
}

/**
 * Returns the reference with the prefix that was used for signing; undefined if the result is
 * invalid.
 */
function remap({ prefix, signedPrefix }: { prefix: string; signedPrefix: string }, image: Reference): Reference | undefined {
  const name = formatRepository(image);
  if (name !== prefix && !name.startsWith(`${prefix}/`)) return image;
  const remapped = parse(signedPrefix + formatReference(image).slice(prefix.length));
  return typeof remapped === "string" ? undefined : remapped;
}

function isNameOnly({ tag, digest }: Reference): boolean {
  return tag === undefined && digest === undefined;
}
