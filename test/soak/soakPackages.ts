import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { type TinyBundle, TinyPackage } from "../bench/many/tinyPackage.ts";
import type { TestCluster } from "../support/cluster.ts";
import { pushBundleImage, pushCatalogImage } from "../support/pushedImages.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";

/** Number of catalogs; a package is in one of them. */
export const CATALOGS = 4;
/** Extensions of the last catalog have no ServiceAccount: permission-manager grants their permissions. */
const MANAGED_CATALOG = CATALOGS - 1;
/** One package of this number has a CRD, and custom resources of its users. */
const PACKAGES_PER_CRD = 20;
/** Versions of a package that its catalog contains. */
const VERSIONS_KEPT = 3;
const AT_ONCE = 8;

/** A package with its versions and its expected state on the cluster. */
export interface SoakPackage {
  readonly tiny: TinyPackage;
  readonly name: string;
  /** Number of its catalog. */
  readonly catalog: number;
  readonly isManaged: boolean;
  /** Versions in the catalog, oldest first; the last one is to be installed. */
  readonly bundles: TinyBundle[];
  /** The next patch version. */
  next: number;
}

/** The packages of a run, in the images of four catalogs. */
export class SoakPackages {
  readonly all: readonly SoakPackage[];
  readonly #client: Client;
  readonly #registry: TestCluster["registry"];
  #editions = 0;

  constructor(count: number, client: Client, registry: TestCluster["registry"]) {
    this.#client = client;
    this.#registry = registry;
    this.all = Array.from({ length: count }, (_, i): SoakPackage => {
      const tiny = new TinyPackage(i, { hasCrd: i % PACKAGES_PER_CRD === 0 });
      const catalog = i % CATALOGS;
      return { tiny, name: tiny.name, catalog, isManaged: catalog === MANAGED_CATALOG, bundles: [], next: 0 };
    });
  }

  /** Number of catalog images so far. */
  get editions(): number {
    return this.#editions;
  }

  /**
   * Pushes the next version of packages, and lets their ServiceAccounts install it.
   * @param retry calls a request to the API server until it succeeds
   */
  async release(packages: readonly SoakPackage[], retry: <T>(request: () => Promise<T>) => Promise<T>): Promise<void> {
    await mapInParallel(packages, AT_ONCE, async (one) => {
      const version = `1.0.${one.next++}`;
      const image = await pushBundleImage(this.#registry, `soak/${one.name}`, `v${version}`, one.name, one.tiny.bundleFiles(version));
      one.bundles.push({ version, image });
      if (one.bundles.length > VERSIONS_KEPT) one.bundles.shift();
      await retry(() => (one.isManaged ? createNamespace(this.#client, one.name) : this.#grant(one)));
    });
  }

  /** Lets the ServiceAccount of a package install all versions in the catalog. */
  async #grant({ tiny, name, bundles }: SoakPackage): Promise<void> {
    const objects = bundles.flatMap(({ version }) => renderBundle(loadBundle(tiny.bundleFiles(version)), { installNamespace: name }));
    await grantInstaller(this.#client, tiny.extension(), objects);
  }

  /** Pushes an image of a catalog with the current versions. @returns its reference by digest */
  pushCatalog(catalog: number): Promise<string> {
    const edition = ++this.#editions;
    const members = this.all.filter((one) => one.catalog === catalog);
    const lines = members.map(({ tiny, bundles }) => tiny.catalogLines(bundles, edition)).join("");
    return pushCatalogImage(this.#registry, `soak/catalog-${catalog}`, `v${edition}`, new Map([["catalog.json", Buffer.from(lines)]]));
  }
}

async function createNamespace(client: Client, name: string): Promise<void> {
  await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } }, { fieldManager: "test", force: true });
}

/** Returns the version of a package that is to be installed. */
export function getWantedVersion({ name, bundles }: SoakPackage): string {
  const version = bundles.at(-1)?.version;
  if (version === undefined) throw new Error(`${name} has no version`);
  return version;
}

/** Returns the extension of a package. */
export function getExtension({ tiny, isManaged }: SoakPackage): ClusterExtension {
  const extension = tiny.extension();
  const { serviceAccount, ...others } = extension.spec;
  return { ...extension, spec: { ...others, ...(isManaged ? {} : { serviceAccount }) } };
}
