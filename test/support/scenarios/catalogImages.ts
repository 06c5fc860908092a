import { API_VERSION } from "../../../pkg/api/constants.ts";
import { buildCatalogMetas, type CatalogTable, getBundleName, type TableBundle } from "../../../pkg/conformance/catalogTable.ts";
import { buildTableBundle } from "../../../pkg/conformance/tableBundle.ts";
import type { World } from "../world.ts";

const FIRST_TAG = "v1";
const POLL_MINUTES = 10;

/** The catalogs of a scenario: their images and those of their bundles, and the ClusterCatalogs, which have the label scenario. */
export class CatalogImages {
  readonly #world: World;
  readonly #scenario: { id: string; registry: string };
  readonly #names = new Set<string>();
  /** By bundle name. */
  readonly #bundles = new Map<string, TableBundle>();
  #polls = 0;

  constructor(world: World, scenario: { id: string; registry: string; catalogs: ReadonlyMap<string, CatalogTable> }) {
    this.#world = world;
    this.#scenario = scenario;
    for (const { bundles } of scenario.catalogs.values()) this.#know(bundles);
  }

  /** All current and former bundles of a catalog. */
  get bundles(): readonly TableBundle[] {
    return [...this.#bundles.values()];
  }

  /** Pushes a catalog and waits until it is served. */
  async serve(name: string, table: CatalogTable): Promise<void> {
    await this.push(name, FIRST_TAG, table);
    await this.apply(name, FIRST_TAG);
    await this.#world.condition("ClusterCatalog", name, (condition) => condition("Serving")?.status === "True", 120_000);
  }

  /** Pushes the bundles of a table, and the catalog that refers to them by digest. */
  async push(name: string, tag: string, table: CatalogTable): Promise<void> {
    this.#know(table.bundles);
    const refs = new Map<string, string>();
    for (const bundle of table.bundles) {
      const ref = await this.#world.pushBundle(`bundles/${bundle.package}`, `v${bundle.version}`, bundle.package, buildTableBundle(bundle));
      refs.set(getBundleName(bundle), ref.replace("quay.io", this.#scenario.registry));
    }
    const metas = buildCatalogMetas({ table }, (bundle) => refs.get(getBundleName(bundle)) ?? "");
    const lines = Buffer.from(metas.map((meta) => `${JSON.stringify(meta)}\n`).join(""));
    await this.#world.pushCatalog(`catalogs/${name}`, tag, new Map([["catalog.json", lines]]));
  }

  /** Creates a ClusterCatalog, or changes its tag. */
  async apply(name: string, tag: string): Promise<void> {
    this.#names.add(name);
    const image = { ref: `quay.io/catalogs/${name}:${tag}`, pollIntervalMinutes: POLL_MINUTES };
    const metadata = { name, labels: { scenario: this.#scenario.id } };
    await this.#world.apply({ apiVersion: API_VERSION, kind: "ClusterCatalog", metadata, spec: { source: { type: "Image", image } } });
  }

  /** Changes the poll interval, so that catalogd polls the tag immediately. */
  async poll(name: string): Promise<void> {
    const pollIntervalMinutes = POLL_MINUTES + ++this.#polls;
    const patch = { spec: { source: { image: { pollIntervalMinutes } } } };
    await this.#world.cluster.client.patch({ apiVersion: API_VERSION, kind: "ClusterCatalog", name }, patch, { type: "merge" });
  }

  /** Deletes the ClusterCatalogs without waiting. */
  async delete(): Promise<void> {
    for (const name of this.#names) await this.#world.cluster.client.delete({ apiVersion: API_VERSION, kind: "ClusterCatalog", name });
  }

  #know(bundles: readonly TableBundle[]): void {
    for (const bundle of bundles) this.#bundles.set(getBundleName(bundle), bundle);
  }
}
