/** A parsed image reference. */
export interface ImageName {
  /** host[:port] */
  readonly registry: string;
  /** path in the registry, for example "library/busybox" */
  readonly repository: string;
  readonly tag?: string | undefined;
  /** "<algorithm>:<hex>" */
  readonly digest?: string | undefined;
}

// The grammar of the docker "named" reference, without ambiguous repetitions, so that matching takes linear time.
const DOMAIN_COMPONENT = "[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*";
const DOMAIN = `${DOMAIN_COMPONENT}(?:\\.${DOMAIN_COMPONENT})*(?::[0-9]+)?`;
const PATH_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const PATH = `${PATH_COMPONENT}(?:/${PATH_COMPONENT})*`;
const TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const REFERENCE = new RegExp(`^((?:${DOMAIN}/)?${PATH})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
const NAME_PREFIX = new RegExp(`^${DOMAIN}(?:/${PATH})?$`);
const HEX_NAME = /^[a-f0-9]{64}$/;

const NAME_LENGTH_MAX = 255;
/** Registry of references without a registry. */
export const DEFAULT_REGISTRY = "docker.io";

/** Hex characters per supported algorithm. */
const HEX_LENGTH = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);
const ANY_DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;

/**
 * Parses an image reference like docker: "busybox" is "docker.io/library/busybox". Returns the error text of the docker reference library if the
 * reference is invalid.
 * @see https://pkg.go.dev/github.com/distribution/reference#ParseNormalizedNamed
 */
export function parseImageName(text: string): ImageName | string {
  if (HEX_NAME.test(text)) return `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`;
  const { domain, remainder } = splitDomain(text);
  const colon = remainder.indexOf(":");
  const remoteName = colon < 0 ? remainder : remainder.slice(0, colon);
  if (remoteName.toLowerCase() !== remoteName) return "invalid reference format: repository name must be lowercase";
  const full = `${domain}/${remainder}`;
  const match = REFERENCE.exec(full);
  if (!match) return REFERENCE.test(full.toLowerCase()) ? "repository name must be lowercase" : "invalid reference format";
  const [, name = "", tag, digest] = match;
  if (name.length > NAME_LENGTH_MAX) return `repository name must not be more than ${NAME_LENGTH_MAX} characters`;
  const problem = digest === undefined ? undefined : findDigestError(digest);
  if (problem !== undefined) return problem;
  const slash = name.indexOf("/");
  return { registry: name.slice(0, slash), repository: name.slice(slash + 1), tag, digest };
}

/** Returns whether `text` is a valid prefix of image names: a host, or a host with a path. */
export function isNamePrefix(text: string): boolean {
  return text.length <= NAME_LENGTH_MAX && NAME_PREFIX.test(text);
}

/** Returns the error of go-digest if `text` is not a valid digest "<sha256|sha384|sha512>:<lower-case hex>", else undefined. */
export function findDigestError(text: string): string | undefined {
  const colon = text.indexOf(":");
  if (colon <= 0 || colon + 1 === text.length) return "invalid checksum digest format";
  const length = HEX_LENGTH.get(text.slice(0, colon));
  if (length === undefined) return ANY_DIGEST.test(text) ? "unsupported digest algorithm" : "invalid checksum digest format";
  const hex = text.slice(colon + 1);
  if (hex.length !== length) return "invalid checksum digest length";
  return /^[a-f0-9]+$/.test(hex) ? undefined : "invalid checksum digest format";
}

/** Splits like docker: the first component is a domain if it contains a dot or colon or is localhost; else the domain is Docker Hub. */
function splitDomain(text: string): { domain: string; remainder: string } {
  const slash = text.indexOf("/");
  const first = text.slice(0, slash);
  let domain = DEFAULT_REGISTRY;
  let remainder = text;
  if (slash >= 0 && (/[.:]/.test(first) || first === "localhost")) {
    domain = first === "index.docker.io" ? DEFAULT_REGISTRY : first;
    remainder = text.slice(slash + 1);
  }
  if (domain === DEFAULT_REGISTRY && !remainder.includes("/")) remainder = `library/${remainder}`;
  return { domain, remainder };
}
