import { stat } from "node:fs/promises";
import { resolve as absolute, basename } from "node:path";
import { goQuote } from "../golang/quote.ts";
import { layoutPlace } from "../oci/imagePlace.ts";
import { compareText } from "../text/compare.ts";

/** The name that a catalog in a folder, a file or a layout has, where none is given with it. */
export function givenName(path: string): string {
  return layoutPlace(path) ? catalogNameFor(path) : basename(absolute(path));
}

/** The name that a catalog gets from its folder's or repository's name, as far as names of catalogs allow it. */
export function catalogNameFor(source: string): string {
  const layout = layoutPlace(source);
  if (layout) return catalogNameFor(layout.tag.includes("/") ? layout.tag : layout.path.replace(/\.tar$/, ""));
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

/** Which catalogs are meant, as options name them. */
export interface CatalogChoice {
  catalog: string[];
  catalogDir: string[];
  catalogImage: string[];
}

/** A catalog and where its content is. */
export interface NamedCatalog {
  readonly name: string;
  /** The highest counts first, as in resolution. */
  readonly priority: number;
  /** A folder or file. */
  readonly path?: string;
  readonly image?: string;
  /** Why it has no content to look at. */
  readonly unavailable?: string;
}

/** Whether catalogs are given, so that no cluster is asked. */
export function isOffline({ catalogDir, catalogImage }: Pick<CatalogChoice, "catalogDir" | "catalogImage">): boolean {
  return catalogDir.length > 0 || catalogImage.length > 0;
}

/** The catalogs in folders, files and images that options name. */
export function listNamedCatalogs({ catalogDir, catalogImage }: Pick<CatalogChoice, "catalogDir" | "catalogImage">): NamedCatalog[] {
  return [...catalogDir.map(folder), ...catalogImage.map(image)];
}

/**
 * Those of the catalogs that --catalog names, or all: by falling priority, else in their order.
 * @throws Error where two have one name, or --catalog names none of them.
 */
export function catalogsNamed(all: readonly NamedCatalog[], { catalog }: Pick<CatalogChoice, "catalog">): NamedCatalog[] {
  const twice = all.find(({ name }, at) => all.findIndex((one) => one.name === name) !== at);
  if (twice) throw new Error(`two catalogs are called ${goQuote(twice.name)}; write name=path to tell them apart`);
  const unknown = catalog.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new Error(`--catalog: there is no catalog ${goQuote(unknown)}; there ${isOrAre(all.map(({ name }) => name))}`);
  const named = catalog.length === 0 ? all : all.filter(({ name }) => catalog.includes(name));
  return named.toSorted((a, b) => b.priority - a.priority);
}

/** Names behind "there", such as `are a, b`. */
export function isOrAre(names: readonly string[]): string {
  return names.length === 0 ? "is none" : `${names.length === 1 ? "is" : "are"} ${names.toSorted(compareText).join(", ")}`;
}

function folder(given: string): NamedCatalog {
  const { name, rest } = partsOf(given);
  return { name: name ?? givenName(rest), priority: 0, path: rest };
}

/** An image without a name of its own is called like its repository. */
function image(given: string): NamedCatalog {
  const { name, rest } = partsOf(given);
  const own = layoutPlace(rest) ? catalogNameFor(rest) : rest.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
  return { name: name ?? own, priority: 0, image: rest };
}

function partsOf(given: string): { name?: string; rest: string } {
  const at = given.indexOf("=");
  return at > 0 ? { name: given.slice(0, at), rest: given.slice(at + 1) } : { rest: given.slice(at + 1) };
}

/** The options that one word stands for: the path of a catalog, its image, or the name of a ClusterCatalog. */
export async function sourceNamed(word: string): Promise<Pick<CatalogChoice, "catalog" | "catalogDir" | "catalogImage">> {
  const none = { catalog: [], catalogDir: [], catalogImage: [] };
  if (layoutPlace(word)) return { ...none, catalogImage: [word] };
  if (/^\.{0,2}\//.test(word) || (await stat(word).catch(() => undefined)))
    return { ...none, catalogDir: [`${basename(absolute(word))}=${word}`] };
  return word.includes("/") ? { ...none, catalogImage: [word] } : { ...none, catalog: [word] };
}
