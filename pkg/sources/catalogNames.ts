import { stat } from "node:fs/promises";
import { resolve as absolute, basename } from "node:path";
import { goQuote } from "../golang/quote.ts";
import { isImageByDigest, parseLayoutPlace } from "../oci/imagePlace.ts";
import { compareText } from "../text/compare.ts";

/** Returns the default name of a catalog in a folder, file or OCI layout. */
export function deriveDefaultName(path: string): string {
  return parseLayoutPlace(path) ? deriveCatalogName(path) : basename(absolute(path));
}

/** Derives a valid catalog name from the name of its folder or repository. */
export function deriveCatalogName(source: string): string {
  const layout = parseLayoutPlace(source);
  if (layout) return deriveCatalogName(layout.tag.includes("/") ? layout.tag : layout.path.replace(/\.tar$/, ""));
  const last =
    source
      .replace(/@.*$/, "")
      .replace(/[/.]+$/, "")
      .split("/")
      .at(-1)
      ?.replace(/:.*$/, "") ?? "";
  const name = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "catalog" : name;
}

/** The catalogs that options select. */
export interface CatalogChoice {
  catalog: string[];
  catalogDir: string[];
  catalogImage: string[];
}

/** A catalog and the location of its content. */
export interface NamedCatalog {
  readonly name: string;
  /** The highest priority takes precedence, as in resolution. */
  readonly priority: number;
  /** A folder, file or OCI layout. */
  readonly path?: string;
  /** Always an image in a registry, also if a folder has the same name. */
  readonly image?: string;
  /** URL at which catalogd serves the image's content. */
  readonly base?: string;
  /** Why the content of the catalog is unavailable. */
  readonly unavailable?: string;
}

/** Reports whether options list catalogs, so that no cluster is needed. */
export function isOffline({ catalogDir, catalogImage }: Pick<CatalogChoice, "catalogDir" | "catalogImage">): boolean {
  return catalogDir.length > 0 || catalogImage.length > 0;
}

/** Returns the catalogs in the folders, files and images in the options. */
export function listNamedCatalogs({ catalogDir, catalogImage }: Pick<CatalogChoice, "catalogDir" | "catalogImage">): NamedCatalog[] {
  return [...catalogDir.map(folder), ...catalogImage.map(image)];
}

/**
 * Returns the catalogs in --catalog, or all catalogs, by descending priority, then in the given order.
 * @throws Error if two catalogs have the same name, or --catalog contains an unknown name
 */
export function filterNamedCatalogs(all: readonly NamedCatalog[], { catalog }: Pick<CatalogChoice, "catalog">): NamedCatalog[] {
  const twice = all.find(({ name }, at) => all.findIndex((one) => one.name === name) !== at);
  if (twice) throw new Error(`two catalogs have the name ${goQuote(twice.name)}; use name=path to distinguish them`);
  const unknown = catalog.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new Error(`--catalog: catalog ${goQuote(unknown)} not found; available: ${listAvailable(all.map(({ name }) => name))}`);
  const named = catalog.length === 0 ? all : all.filter(({ name }) => catalog.includes(name));
  return named.toSorted((a, b) => b.priority - a.priority);
}

/** Formats available names, sorted and comma-separated, such as `a, b`; `none` if the list is empty. */
export function listAvailable(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.toSorted(compareText).join(", ");
}

function folder(given: string): NamedCatalog {
  const { name, rest } = splitParts(given);
  return { name: name ?? deriveDefaultName(rest), priority: 0, path: rest };
}

/** Returns the catalog in an image, with the name of the image repository. */
function image(given: string): NamedCatalog {
  const { name, rest } = splitParts(given);
  if (parseLayoutPlace(rest)) return { name: name ?? deriveCatalogName(rest), priority: 0, path: rest };
  const own = rest.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
  return { name: name ?? own, priority: 0, image: rest };
}

function splitParts(given: string): { name?: string; rest: string } {
  const at = given.indexOf("=");
  return at > 0 ? { name: given.slice(0, at), rest: given.slice(at + 1) } : { rest: given.slice(at + 1) };
}

/** Returns the option that corresponds to a word: the path of a catalog, a catalog image, or the name of a ClusterCatalog. */
export async function parseSource(word: string): Promise<Pick<CatalogChoice, "catalog" | "catalogDir" | "catalogImage">> {
  const none = { catalog: [], catalogDir: [], catalogImage: [] };
  if (parseLayoutPlace(word)) return { ...none, catalogImage: [word] };
  if (isImageByDigest(word)) return { ...none, catalogImage: [word] };
  if (/^\.{0,2}\//.test(word) || (await stat(word).catch(() => undefined)))
    return { ...none, catalogDir: [`${basename(absolute(word))}=${word}`] };
  return word.includes("/") ? { ...none, catalogImage: [word] } : { ...none, catalog: [word] };
}
