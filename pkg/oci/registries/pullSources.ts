import { compareText } from "../../text/compare.ts";
import { lowerHost } from "../imageScopes.ts";
import { formatReference, formatRepository, parse, type Reference } from "../reference.ts";

/** A mirror of a registry entry. */
export interface RegistryMirror {
  readonly location: string;
  readonly insecure: boolean;
  /** "digest-only", "tag-only", or "all" and "" for both */
  readonly "pull-from-mirror": string;
}

/**
 * A validated [[registry]] table of registries.conf, or the settings of the cluster in the same form. `prefix` is set,
 * with its host in lower case; `location` is empty only for a wildcard prefix.
 */
export interface RegistryEntry {
  readonly prefix: string;
  readonly location: string;
  readonly insecure: boolean;
  readonly blocked: boolean;
  readonly "mirror-by-digest-only": boolean;
  readonly mirror: readonly RegistryMirror[];
  /** the objects of the cluster that define it; undefined for a file */
  readonly origin?: string;
}

/** The effective registries.conf: one entry per prefix, sorted by prefix. */
export interface RegistriesConf {
  readonly entries: readonly RegistryEntry[];
  /** the source files and folders, for messages */
  readonly origin: string;
}

/** Adds the entries of the cluster; of entries with the same prefix, the file's takes precedence. */
export function withClusterEntries(conf: RegistriesConf, entries: readonly RegistryEntry[]): RegistriesConf {
  if (entries.length === 0) return conf;
  const byPrefix = new Map([...entries, ...conf.entries].map((entry) => [entry.prefix, entry]));
  return { ...conf, entries: [...byPrefix.values()].sort((a, b) => compareText(a.prefix, b.prefix)) };
}

/** One location to pull from. */
export interface PullSource {
  /** the reference, rewritten for this location */
  readonly ref: Reference;
  /** plain HTTP and unverified TLS are accepted */
  readonly insecure: boolean;
  /** the reason why this location is blocked */
  readonly blocked?: string | undefined;
  /** the objects of the cluster that configure it */
  readonly origin?: string | undefined;
}

/**
 * Returns the locations of `ref`, in order: the applicable mirrors, then the source. The longest
 * prefix that matches the name decides. A `blocked` entry blocks its own location, but not its
 * mirrors.
 * @param isFromTag whether the digest of `ref` was resolved from a tag; then mirrors only for tags
 * apply too, because they may be the only location
 * @throws Error if a rewritten reference is invalid
 */
export function listPullSources(conf: RegistriesConf, ref: Reference, isFromTag = false): PullSource[] {
  const entry = entryFor(conf, ref);
  if (!entry) return [{ ref, insecure: false }];
  const byDigest = ref.digest !== undefined;
  const byTag = !byDigest || isFromTag;
  const mirrors = entry.mirror.filter((mirror) => {
    if (entry["mirror-by-digest-only"]) return byDigest;
    return mirror["pull-from-mirror"] === "digest-only" ? byDigest : mirror["pull-from-mirror"] !== "tag-only" || byTag;
  });
  return [...mirrors, entry].map((endpoint): PullSource => {
    const rewritten = rewrite(ref, entry.prefix, endpoint.location);
    const by = endpoint === entry && entry.blocked ? entry : entryFor(conf, rewritten);
    const blocked = by?.blocked ? `registry ${by.prefix} is blocked in ${by.origin ?? conf.origin}` : undefined;
    return { ref: rewritten, insecure: endpoint.insecure, blocked, origin: endpoint === entry ? undefined : entry.origin };
  });
}

/** Returns the entry with the longest prefix of the name of `ref`. */
function entryFor(conf: RegistriesConf, ref: Reference): RegistryEntry | undefined {
  const name = lowerHost(formatRepository(ref));
  let best: RegistryEntry | undefined;
  for (const entry of conf.entries)
    if (entry.prefix.length > (best?.prefix.length ?? 0) && matchLength(name, entry.prefix) >= 0) best = entry;
  return best;
}

/**
 * Returns the number of characters of `text` that the prefix matches, or -1. The prefix must end at the end of the host, a path component or the
 * name; "*.example.com" covers any subdomain of example.com, up to and including its ".example.com".
 */
export function matchLength(text: string, prefix: string): number {
  let end = prefix.length;
  if (prefix.startsWith("*.")) {
    const at = text.indexOf(prefix.slice(1));
    if (at < 0 || text.slice(0, at).includes("/")) return -1;
    end = at + prefix.length - 1;
  } else if (!text.startsWith(prefix)) return -1;
  const next = text[end];
  return next === undefined || next === ":" || next === "/" || next === "@" ? end : -1;
}

function rewrite(ref: Reference, prefix: string, location: string): Reference {
  if (location === "") return ref;
  const text = formatReference(ref);
  const rewritten = parse(location + text.slice(matchLength(lowerHost(text), prefix)));
  if (typeof rewritten === "string") throw new Error(`rewriting reference: ${rewritten}`);
  return rewritten;
}
