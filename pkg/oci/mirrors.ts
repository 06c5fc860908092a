import { nameOf, parse, type Reference, referenceText } from "./reference.ts";
import type { RegistriesConf, RegistryEntry } from "./registriesConf.ts";

/** One place to pull from. */
export interface PullSource {
  /** the reference, rewritten to this place */
  readonly ref: Reference;
  /** plain HTTP and unverified TLS are accepted */
  readonly insecure: boolean;
  /** the message that forbids this place */
  readonly blocked?: string | undefined;
}

/**
 * Where to pull `ref` from, in order: the mirrors that apply, then the source itself. Prefixes decide: the longest one that covers the name.
 * An entry that is `blocked` forbids its own location, not its mirrors.
 * @throws Error when a rewritten reference is none
 */
export function pullSources(conf: RegistriesConf, ref: Reference): PullSource[] {
  const entry = entryFor(conf, nameOf(ref));
  if (!entry) return [{ ref, insecure: false }];
  const byDigest = ref.digest !== undefined;
  const mirrors = entry.mirror.filter((mirror) => {
    if (entry["mirror-by-digest-only"]) return byDigest;
    return mirror["pull-from-mirror"] === "digest-only" ? byDigest : mirror["pull-from-mirror"] !== "tag-only" || !byDigest;
  });
  return [...mirrors, entry].map((endpoint): PullSource => {
    const rewritten = rewrite(ref, entry.prefix, endpoint.location);
    const by = endpoint === entry && entry.blocked ? entry : entryFor(conf, nameOf(rewritten));
    const blocked = by?.blocked ? `registry ${by.prefix} is blocked in ${conf.origin}` : undefined;
    return { ref: rewritten, insecure: endpoint.insecure, blocked };
  });
}

/** The entry with the longest prefix of `name`. */
function entryFor(conf: RegistriesConf, name: string): RegistryEntry | undefined {
  let best: RegistryEntry | undefined;
  for (const entry of conf.entries)
    if (entry.prefix.length > (best?.prefix.length ?? 0) && matchLength(name, entry.prefix) >= 0) best = entry;
  return best;
}

/**
 * How many characters of `text` the prefix covers, or -1. The prefix must end where the host, a path component or the name ends;
 * "*.example.com" covers any host below example.com, up to and including its ".example.com".
 */
function matchLength(text: string, prefix: string): number {
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
  const text = referenceText(ref);
  const rewritten = parse(location + text.slice(matchLength(text, prefix)));
  if (typeof rewritten === "string") throw new Error(`rewriting reference: ${rewritten}`);
  return rewritten;
}
