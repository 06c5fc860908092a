import { DEFAULT_REGISTRY, type ImageName, normalizedImageName } from "../api/imageName.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";

/** An image reference that names its registry: "registry/repository", with a tag, a digest, both or neither. */
export type Reference = ImageName;

/**
 * Reads a fully qualified image reference; nothing is normalised, so "busybox" or "docker.io/busybox" is refused.
 * @throws TerminalError Blocked: `error parsing image reference "…": …` with the text of the docker reference library.
 */
export function parseReference(text: string): Reference {
  const result = parse(text);
  if (typeof result === "string") throw new TerminalError("Blocked", `error parsing image reference ${goQuote(text)}: ${result}`);
  return result;
}

/**
 * A reference that can be pulled: it has a tag or a digest, and not both.
 * @throws TerminalError Blocked, as {@link parseReference}, and `error creating reference: …`.
 */
export function parsePullReference(text: string): Reference {
  const ref = parseReference(text);
  if (ref.tag === undefined && ref.digest === undefined)
    throw new TerminalError(
      "Blocked",
      `error creating reference: Docker reference ${familiarText(ref)} is not for an unknown digest case; tag or digest is needed`,
    );
  if (ref.tag !== undefined && ref.digest !== undefined)
    throw new TerminalError(
      "Blocked",
      "error creating reference: Docker references with both a tag and digest are currently not supported",
    );
  return ref;
}

/** "registry/repository" */
export function nameOf(ref: Reference): string {
  return `${ref.registry}/${ref.repository}`;
}

/** The reference as its text. */
export function formatReference(ref: Reference): string {
  return nameOf(ref) + (ref.tag === undefined ? "" : `:${ref.tag}`) + (ref.digest === undefined ? "" : `@${ref.digest}`);
}

/** The reference as docker shows it: without "docker.io/" and "docker.io/library/". */
export function familiarText(ref: Reference): string {
  const text = formatReference(ref);
  if (ref.registry !== DEFAULT_REGISTRY) return text;
  const short = text.slice(DEFAULT_REGISTRY.length + 1);
  return /^library\/[^/]+$/.test(ref.repository) ? short.slice("library/".length) : short;
}

/** The reference by digest: "registry/repository@digest". */
export function formatCanonical(ref: Reference, digest: string): string {
  return `${nameOf(ref)}@${digest}`;
}

/** The reference, or the reason why the text is none. */
export function parse(text: string): Reference | string {
  const name = normalizedImageName(text);
  if (typeof name === "string") return name;
  return formatReference(name) === text ? name : "repository name must be canonical";
}
