import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { PackageContent } from "../../../pkg/fbc/types.ts";
import { CatalogPackages, findAffectedExtensions } from "../../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import { chooseBest, filterCandidates } from "../../../pkg/resolve/resolve.ts";
import type { BundleMetadata } from "../../../pkg/resolve/successors.ts";
import type { LoadedCatalog } from "../../cases/catalogCache.ts";
import { createCatalog } from "../../support/catalogs.ts";
import { createExtension } from "../../support/extensions.ts";

const EXTENSIONS = 1_000;
const CATALOGS = ["a", "b", "c", "d", "e"];
const signal = new AbortController().signal;

/** Cost of resolving extensions again. */
export interface Resolutions {
  readonly seconds: number;
  /** Packages that were read from catalogs. */
  readonly reads: number;
  readonly resolved: number;
}

interface Wanted {
  readonly extension: ClusterExtension;
  readonly installed: BundleMetadata | undefined;
}

/** A thousand extensions that install the packages of one catalog. Five catalogs with different priorities contain these packages. */
export class ManyResolutions {
  readonly #extensions: readonly Wanted[];
  readonly #packages: LoadedCatalog;
  #edition = 1;
  #reads = 0;
  readonly #contents = new CatalogPackages({ packageContent: (_base, ref, packageName) => this.#read(ref, packageName) });

  constructor(packages: LoadedCatalog) {
    this.#packages = packages;
    const all = [...packages].filter(([name, { bundles }]) => name !== "" && bundles.length > 0);
    this.#extensions = Array.from({ length: EXTENSIONS }, (_, i) => {
      const [name, { bundles }] = all[i % all.length] ?? ["", { bundles: [] }];
      const bundle = bundles[Math.floor(i / all.length) % bundles.length];
      const value = bundle?.properties.find(({ type }) => type === "olm.package")?.value as { version?: string } | undefined;
      const installed = bundle && value?.version !== undefined ? { name: bundle.name, version: value.version } : undefined;
      return { extension: createExtension(`x${i}`, { packageName: name }), installed };
    });
  }

  /** Resolves all extensions from scratch. */
  async first(): Promise<Resolutions> {
    return this.#timed(() => this.#all(this.#extensions));
  }

  /** Publishes an edition of the last catalog with changed packages, and resolves the affected extensions. */
  async afterChange(): Promise<Resolutions> {
    const before = this.#catalogs().at(-1)?.status?.resolvedSource?.image?.ref;
    this.#edition++;
    const catalog = this.#catalogs().at(-1);
    if (!catalog) throw new Error("there are no catalogs");
    return this.#timed(async () => {
      const concerned = new Set<string>();
      const extensions = this.#extensions.map(({ extension }) => extension);
      await findAffectedExtensions({ catalog, before }, extensions, this.#contents, (name) => concerned.add(name));
      return this.#all(this.#extensions.filter(({ extension }) => concerned.has(extension.metadata.name)));
    });
  }

  async #timed(work: () => Promise<number>): Promise<Resolutions> {
    this.#reads = 0;
    const started = performance.now();
    const resolved = await work();
    return { seconds: (performance.now() - started) / 1_000, reads: this.#reads, resolved };
  }

  async #all(selected: readonly Wanted[]): Promise<number> {
    let found = 0;
    for (const { extension, installed } of selected) {
      const source = extension.spec.source.catalog ?? { packageName: "" };
      const catalogs = await this.#contents.read(this.#catalogs(), source.packageName, signal);
      const filtered = filterCandidates({ source, catalogs, installed });
      found += Number(filtered.kind === "candidates" && chooseBest(filtered).kind === "resolved");
    }
    return found;
  }

  #catalogs() {
    return CATALOGS.map((name, priority) => {
      const edition = name === CATALOGS.at(-1) ? this.#edition : 1;
      return createCatalog(name, { digest: `quay.io/${name}@sha256:${edition}`, priority });
    });
  }

  #read(ref: string, packageName: string): Promise<PackageContent | undefined> {
    this.#reads++;
    const content = this.#packages.get(packageName);
    const others = Number(ref.slice(ref.lastIndexOf(":") + 1));
    return Promise.resolve(content && { ...structuredClone(content), others });
  }
}
