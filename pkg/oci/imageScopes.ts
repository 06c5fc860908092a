import { formatReference, formatRepository, type Reference } from "./reference.ts";

/**
 * Returns a reference or scope with its host in lower case. DNS ignores the case of hosts, so a
 * comparison that does not would let an image pass under another spelling.
 */
export function lowerHost(text: string): string {
  return text.replace(/^[^/]*/, (host) => host.toLowerCase());
}

/** Returns a scope as `listImageScopes` spells it: the host in lower case, without the default port. */
export function normalizeScope(scope: string): string {
  return lowerHost(scope).replace(/^([^/]*):443(?=\/|$)/, "$1");
}

/**
 * Returns the scopes of an image, most specific first: the image, its repository and parent
 * namespaces, the host, `*.` with each parent domain of the host, and "" for every image. Compare
 * them with normalized scopes.
 */
export function listImageScopes(requested: Reference): string[] {
  const ref = { ...requested, registry: normalizeScope(requested.registry) };
  const scopes = [formatReference(ref)];
  for (let name = formatRepository(ref); ; name = name.slice(0, name.lastIndexOf("/"))) {
    scopes.push(name);
    if (!name.includes("/")) break;
  }
  const labels = ref.registry.replace(/:.*$/, "").split(".");
  for (let from = 1; from < labels.length; from++) scopes.push(`*.${labels.slice(from).join(".")}`);
  return [...scopes, ""];
}
