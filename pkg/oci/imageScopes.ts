import { formatReference, formatRepository, type Reference } from "./reference.ts";

/**
 * Returns the scopes of an image, most specific first: the image, its repository and parent
 * namespaces, the host, `*.` with each parent domain of the host, and "" for every image.
 */
export function listImageScopes(ref: Reference): string[] {
  const scopes = [formatReference(ref)];
  for (let name = formatRepository(ref); ; name = name.slice(0, name.lastIndexOf("/"))) {
    scopes.push(name);
    if (!name.includes("/")) break;
  }
  const labels = ref.registry.replace(/:.*$/, "").split(".");
  for (let from = 1; from < labels.length; from++) scopes.push(`*.${labels.slice(from).join(".")}`);
  return [...scopes, ""];
}
