import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { CatalogSource } from "../api/clusterExtension.ts";
import { wrapError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { findLayoutPlace } from "../oci/imagePlace.ts";
import { selectClusterCatalogs } from "../operatorcontroller/catalogs/catalogPackages.ts";
import type { CatalogPackage, Unresolved } from "../resolve/resolution.ts";
import { readPackage } from "../sources/catalogContent.ts";
import { deriveDefaultName, listAvailable } from "../sources/catalogNames.ts";
import { type CatalogContentReader, createCatalogReader, createClusterCatalog, listClusterCatalogs } from "../sources/clusterCatalogs.ts";
import type { DependencySearch } from "./previewChoice.ts";

/** Sources of catalogs: folders, and the cluster; undefined if not used. */
export interface Sources {
  readonly client: Client | undefined;
  readonly reader: CatalogContentReader;
  /** How to search for dependencies. Default: in this thread, see `createDependencySearch`. */
  readonly search?: DependencySearch | undefined;
  readonly signal: AbortSignal;
}

/** The selected catalogs and the content of one package in each of them. */
export interface SelectedContents {
  readonly catalogs: readonly ClusterCatalog[];
  readonly contents: readonly CatalogPackage[];
  /** The catalogs of the cluster that the selector does not select. */
  readonly others: readonly ClusterCatalog[];
  /** The error if `spec.source.catalog.selector` is invalid; no catalog is selected in this case. */
  readonly invalidSelector?: Unresolved;
}

interface NamedFolder {
  readonly name: string;
  readonly path: string;
}

/**
 * Selects catalogs, and reads the package in `source` from each of them.
 * @throws Error if a folder or file cannot be read, or `--catalog` contains an unknown name
 */
export async function selectCatalogContents(
  source: CatalogSource,
  options: { readonly catalog: readonly string[]; readonly catalogDir: readonly string[] },
  { client, reader, signal }: Sources,
): Promise<SelectedContents> {
  if (!client || options.catalogDir.length > 0) {
    const given = await Promise.all(options.catalogDir.map((one) => folderContent(folderFrom(one), source.packageName, reader)));
    const contents = named(given, ({ name }) => name, options.catalog);
    const folders = options.catalogDir.map(folderFrom).filter((folder) => contents.some(({ name }) => name === folder.name));
    return { catalogs: folders.map(({ name, path }) => createClusterCatalog(name, path)), contents, others: [] };
  }
  const all = named(await listClusterCatalogs(client, signal), ({ metadata }) => metadata.name, options.catalog);
  const selection = selectClusterCatalogs({ list: () => all }, source);
  if (selection.kind === "unresolved") return { catalogs: [], contents: [], others: [], invalidSelector: selection };
  const { catalogs } = selection;
  const others = all.filter((catalog) => !catalogs.includes(catalog));
  return { catalogs, contents: await createCatalogReader(reader).read(catalogs, source.packageName, signal), others };
}

/** Returns the `catalogs` with these `names`, or all. @throws Error for an unknown name */
function named<C>(catalogs: readonly C[], nameOf: (catalog: C) => string, names: readonly string[]): readonly C[] {
  const unknown = names.find((name) => !catalogs.some((catalog) => nameOf(catalog) === name));
  if (unknown !== undefined)
    throw new Error(`--catalog: catalog ${goQuote(unknown)} not found; available: ${listAvailable(catalogs.map(nameOf))}`);
  return names.length === 0 ? catalogs : catalogs.filter((catalog) => names.includes(nameOf(catalog)));
}

function folderFrom(given: string): NamedFolder {
  const at = given.indexOf("=");
  const path = given.slice(at + 1);
  return { name: at > 0 ? given.slice(0, at) : deriveDefaultName(path), path };
}

async function folderContent({ name, path }: NamedFolder, packageName: string, reader: CatalogContentReader): Promise<CatalogPackage> {
  try {
    return {
      name,
      priority: 0,
      content: await readPackage((await findLayoutPlace(path)) ? await reader.catalogFolder(path) : path, packageName),
    };
  } catch (err) {
    throw wrapError(`read catalog ${path}: `, err);
  }
}
