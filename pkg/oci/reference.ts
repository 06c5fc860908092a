import { TerminalError } from "../errors/errors.ts";
import { digestProblem } from "./digest.ts";
import { goQuoted } from "./quote.ts";

/** An image reference that names its registry: "registry/repository", with a tag, a digest, both or neither. */
export interface Reference {
  /** host[:port] */
  readonly registry: string;
  /** path below the registry, for example "library/busybox" */
  readonly repository: string;
  readonly tag?: string | undefined;
  /** "<algorithm>:<hex>" */
  readonly digest?: string | undefined;
}

// The grammar of the docker "named" reference, written without ambiguous repetitions so that matching stays linear in the input.
const DOMAIN_COMPONENT = "[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*";
const DOMAIN = `${DOMAIN_COMPONENT}(?:\\.${DOMAIN_COMPONENT})*(?::[0-9]+)?`;
const PATH_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const PATH = `${PATH_COMPONENT}(?:/${PATH_COMPONENT})*`;
const TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const REFERENCE = new RegExp(`^((?:${DOMAIN}/)?${PATH})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
const HEX_NAME = /^[a-f0-9]{64}$/;

const NAME_LENGTH_MAX = 255;
const DEFAULT_DOMAIN = "docker.io";

/**
 * Reads a fully qualified image reference; nothing is normalised, so "busybox" or "docker.io/busybox" is refused.
 * @throws TerminalError Blocked: `error parsing image reference "…": …` with the text of the docker reference library.
 */
export function parseReference(text: string): Reference {
  const result = parse(text);
  if (typeof result === "string") throw new TerminalError("Blocked", `error parsing image reference ${goQuoted(text)}: ${result}`);
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
export function referenceText(ref: Reference): string {
  return nameOf(ref) + (ref.tag === undefined ? "" : `:${ref.tag}`) + (ref.digest === undefined ? "" : `@${ref.digest}`);
}

/** The reference as docker shows it: without "docker.io/" and "docker.io/library/". */
export function familiarText(ref: Reference): string {
  const text = referenceText(ref);
  if (ref.registry !== DEFAULT_DOMAIN) return text;
  const short = text.slice(DEFAULT_DOMAIN.length + 1);
  return /^library\/[^/]+$/.test(ref.repository) ? short.slice("library/".length) : short;
}

/** The reference by digest: "registry/repository@digest". */
export function canonical(ref: Reference, digest: string): string {
  return `${nameOf(ref)}@${digest}`;
}

/** The reference, or the reason why the text is none. */
export function parse(text: string): Reference | string {
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
  const problem = digest === undefined ? undefined : digestProblem(digest);
  if (problem !== undefined) return problem;
  const slash = name.indexOf("/");
  const ref: Reference = { registry: name.slice(0, slash), repository: name.slice(slash + 1), tag, digest };
  return referenceText(ref) === text ? ref : "repository name must be canonical";
}

/** Splits as docker does: the first component is a domain only when it looks like one; otherwise Docker Hub is meant. */
function splitDomain(text: string): { domain: string; remainder: string } {
  const slash = text.indexOf("/");
  const first = text.slice(0, slash);
  let domain = DEFAULT_DOMAIN;
  let remainder = text;
  if (slash >= 0 && (/[.:]/.test(first) || first === "localhost")) {
    domain = first === "index.docker.io" ? DEFAULT_DOMAIN : first;
    remainder = text.slice(slash + 1);
  }
  if (domain === DEFAULT_DOMAIN && !remainder.includes("/")) remainder = `library/${remainder}`;
  return { domain, remainder };
}
