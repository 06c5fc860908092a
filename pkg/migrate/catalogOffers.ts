import { createReadStream } from "node:fs";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, LABEL_METADATA_NAME } from "../api/constants.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { getPackageName, groupByPackage } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import type { Meta, PackageContent } from "../fbc/types.ts";
import type { Client } from "../kube/client.ts";
import { findBundleVersion } from "../resolve/candidates.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { listCatalogFiles } from "../sources/catalogContent.ts";
import { deriveDefaultName } from "../sources/catalogNames.ts";
import { createClusterCatalog, listClusterCatalogs } from "../sources/clusterCatalogs.ts";
import { formatVersionRelease } from "../version/version.ts";
import type { PackageOffers } from "./eligibilityInput.ts";

/** The bundles that catalogs contain for a set of packages. */
export class CatalogOffers {
  readonly catalogs: readonly ClusterCatalog[];
  readonly #contents: ReadonlyMap<string, ReadonlyMap<string, PackageContent>>;
  readonly #unread: readonly string[];

  private constructor(
    catalogs: readonly ClusterCatalog[],
    contents: ReadonlyMap<string, ReadonlyMap<string, PackageContent>>,
    unread: readonly string[],
  ) {
    this.catalogs = catalogs;
    this.#contents = contents;
    this.#unread = unread;
  }

  /**
   * Reads each catalog once. Reads no catalogs if `packages` is empty.
   * @param given folders or files as [name=]path, used as ClusterCatalogs with these names; if empty, reads the catalogs of the cluster
   * @param packages names of packages to keep
   */
  static async read(
    client: Client,
    {
      given,
      packages,
      reader,
      signal,
      report,
    }: {
      given: readonly string[];
      packages: ReadonlySet<string>;
      reader: Pick<BundleReader, "catalogFolder">;
      signal: AbortSignal;
      report: (what: string) => void;
    },
  ): Promise<CatalogOffers> {
    if (packages.size === 0) return new CatalogOffers([], new Map(), []);
    const all = given.length > 0 ? given.map(catalogFrom) : await listClusterCatalogs(client, signal);
    const catalogs = all.filter(isServed).map(labelled);
    const contents = new Map<string, ReadonlyMap<string, PackageContent>>();
    const unread: string[] = [];
    for (const { metadata, status } of catalogs) {
      const ref = status?.resolvedSource?.image?.ref ?? "";
      report(`reading catalog ${metadata.name}`);
      try {
        contents.set(metadata.name, await listFactPackages(await reader.catalogFolder(ref, status?.urls?.base), packages));
      } catch (err) {
        signal.throwIfAborted();
        unread.push(`${metadata.name}: ${getErrorMessage(err)}`);
      }
    }
    const idle = all.filter((catalog) => !isServed(catalog)).map(({ metadata }) => `${metadata.name}: not served`);
    return new CatalogOffers(catalogs, contents, [...unread, ...idle]);
  }

  /** Returns the offers for the bundle of a ClusterServiceVersion. */
  of(packageName: string, csv: string | undefined): PackageOffers {
    const found = this.catalogs.flatMap(({ metadata: { name }, spec }) => {
      const content = this.#contents.get(name)?.get(packageName);
      return content ? [{ catalog: name, priority: spec.priority ?? 0, catalogImage: spec.source.image?.ref, content }] : [];
    });
    const bundles = found.flatMap(({ catalog, priority, catalogImage, content }) => {
      const bundle = content.bundles.find(({ name }) => name === csv);
      const version = bundle && findBundleVersion(bundle);
      if (!bundle || !version) return [];
      const channels = content.channels.filter(({ entries }) => entries.some(({ name }) => name === csv)).map(({ name }) => name);
      return [{ catalog, priority, version: formatVersionRelease(version), image: bundle.image, channels, catalogImage }];
    });
    return { catalogs: found.map(({ catalog }) => catalog), bundles, unread: this.#unread };
  }
}

function catalogFrom(given: string): ClusterCatalog {
  const at = given.indexOf("=");
  const path = given.slice(at + 1);
  return createClusterCatalog(at > 0 ? given.slice(0, at) : deriveDefaultName(path), path);
}

function isServed({ spec, status }: ClusterCatalog): boolean {
  return spec.availabilityMode !== "Unavailable" && findCondition(status?.conditions, ConditionType.Serving)?.status === "True";
}

/** Adds the label with the catalog name, which selectors use. */
function labelled(catalog: ClusterCatalog): ClusterCatalog {
  const { metadata } = catalog;
  return { ...catalog, metadata: { ...metadata, labels: { ...metadata.labels, [LABEL_METADATA_NAME]: metadata.name } } };
}

async function listFactPackages(source: string, packages: ReadonlySet<string>): Promise<ReadonlyMap<string, PackageContent>> {
  const metas: Meta[] = [];
  for (const { path, location } of await listCatalogFiles(source)) {
    const bytes = createReadStream(location) as AsyncIterable<Uint8Array>;
    for await (const meta of decodeMetas(bytes, path)) if (packages.has(getPackageName(meta))) metas.push(meta);
  }
  return groupByPackage(metas);
}
