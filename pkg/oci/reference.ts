import { DEFAULT_REGISTRY, type ImageName, parseImageName } from "../api/imageName.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";

/** An image reference with a registry: "registry/repository", with a tag, a digest, both or neither. */
export type Reference = ImageName;

/**
 * Parses a fully qualified image reference without normalization, so "busybox" and
 * "docker.io/busybox" are rejected.
 * @throws TerminalError Blocked: `error parsing image reference "…": …` with the text of the docker
 * reference library.
 */
export function parseReference(text: string): Reference {
  const result = parse(text);
  if (typeof result === "string") throw new TerminalError("Blocked", `error parsing image reference ${goQuote(text)}: ${result}`);
  return result;
}

/**
 * Parses a reference that can be pulled: it has either a tag or a digest.
 * @throws TerminalError Blocked, as {@link parseReference}, and `error creating reference: …`.
 */
export function parsePullReference(text: string): Reference {
  const ref = parseReference(text);
  if (ref.tag === undefined && ref.digest === undefined)
    throw new TerminalError(
      "Blocked",
      `error creating reference: Docker reference ${formatFamiliarReference(ref)} is not for an unknown digest case; tag or digest is needed`,
    );
  if (ref.tag !== undefined && ref.digest !== undefined)
    throw new TerminalError(
      "Blocked",
      "error creating reference: Docker references with both a tag and digest are currently not supported",
    );
  return ref;
}

/** Returns "registry/repository". */
export function formatRepository(ref: Reference): string {
  return `${ref.registry}/${ref.repository}`;
}

/** Formats a reference. */
export function formatReference(ref: Reference): string {
  return formatRepository(ref) + (ref.tag === undefined ? "" : `:${ref.tag}`) + (ref.digest === undefined ? "" : `@${ref.digest}`);
}

/** Formats a reference as docker displays it: without "docker.io/" and "docker.io/library/". */
export function formatFamiliarReference(ref: Reference): string {
  const text = formatReference(ref);
  if (ref.registry !== DEFAULT_REGISTRY) return text;
  const short = text.slice(DEFAULT_REGISTRY.length + 1);
  return /^library\/[^/]+$/.test(ref.repository) ? short.slice("library/".length) : short;
}

/** Formats a reference with a digest: "registry/repository@digest". */
export function formatCanonical(ref: Reference, digest: string): string {
  return `${formatRepository(ref)}@${digest}`;
}

/** Parses a reference; returns the reason if the text is invalid. */
export function parse(text: string): Reference | string {
  const name = parseImageName(text);
  if (typeof name === "string") return name;
  return formatReference(name) === text ? name : "repository name must be canonical";
}
