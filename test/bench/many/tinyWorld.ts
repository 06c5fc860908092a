import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import type { RoleStrategy } from "../../../pkg/rbac/escalation.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { grantInstaller } from "../../support/serviceAccounts.ts";
import type { World } from "../../support/world.ts";
import type { BenchCluster } from "../benchCluster.ts";
import { isInstalled } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { TINY_VERSION, TinyPackage } from "./tinyPackage.ts";

/** Name of the catalog. */
export const TINY_CATALOG = "tiny";
const CATALOG_REPOSITORY = "bench/tiny-catalog";
const AT_ONCE = 8;
const INSTALL_TIMEOUT_MS = 900_000;

/** Tiny packages in a catalog, with a namespace and a ServiceAccount for each. */
export class TinyWorld {
  readonly packages: readonly TinyPackage[];
  readonly #cluster: BenchCluster;
  readonly #world: World;
  readonly #images = new Map<string, string>();

  private constructor(cluster: BenchCluster, world: World, count: number) {
    this.#cluster = cluster;
    this.#world = world;
    this.packages = Array.from({ length: count }, (_, i) => new TinyPackage(i));
  }

  /** Pushes `count` packages, creates their namespaces and serves the catalog. */
  static async start(cluster: BenchCluster, world: World, count: number, say: (line: string) => void): Promise<TinyWorld> {
    const tiny = new TinyWorld(cluster, world, count);
    say(`preparing ${count} packages, namespaces and ServiceAccounts`);
    await mapInParallel(tiny.packages, AT_ONCE, async (one) => {
      const { name } = one;
      tiny.#images.set(name, await world.pushBundle(`bench/${name}`, `v${TINY_VERSION}`, name, one.bundleFiles()));
    });
    await tiny.grant("escalate");
    await world.serve(TINY_CATALOG, await tiny.pushEdition(0));
    return tiny;
  }

  /** Gives the ServiceAccounts exactly the rules of their packages. @param strategy how they may write the roles of the packages */
  async grant(strategy: RoleStrategy): Promise<void> {
    await mapInParallel(this.packages, AT_ONCE, async (one) => {
      const objects = renderBundle(loadBundle(one.bundleFiles()), { installNamespace: one.name });
      await grantInstaller(this.#cluster.client, one.extension(), objects, { strategy });
    });
  }

  /**
   * Pushes a catalog image that differs from all other editions in a package that is not installed. @returns its
   * reference by digest.
   */
  pushEdition(edition: number): Promise<string> {
    const lines = this.packages.map((one) => one.catalogLines([{ version: TINY_VERSION, image: this.#images.get(one.name) ?? "" }], 0));
    lines.push(
      new TinyPackage(this.packages.length).catalogLines([{ version: TINY_VERSION, image: [...this.#images.values()][0] ?? "" }], edition),
    );
    return this.#world.pushCatalog(CATALOG_REPOSITORY, `edition-${edition}`, new Map([["catalog.json", Buffer.from(lines.join(""))]]));
  }

  /**
   * Applies an extension for each package concurrently. @returns seconds until all are installed.
   * @param isManaged without the prepared ServiceAccount, so that permission-manager grants the permissions
   */
  async install(spec: Partial<ClusterExtension["spec"]> = {}, isManaged = false): Promise<number> {
    await using extensions = await Observer.start<ClusterExtension>(this.#cluster.client, "ClusterExtension");
    const applyAll = (): Promise<unknown> =>
      mapInParallel(this.packages, this.packages.length, async (one) => {
        const extension = one.extension();
        const { serviceAccount, ...others } = extension.spec;
        await this.#world.apply({ ...extension, spec: { ...others, ...(isManaged ? {} : { serviceAccount }), ...spec } });
      });
    const allInstalled = (): boolean => this.packages.every(({ name }) => isInstalled(extensions.get(name), TINY_VERSION));
    return await extensions.secondsUntil(applyAll, allInstalled, INSTALL_TIMEOUT_MS);
  }

  /** Deletes all extensions and waits until they no longer exist. */
  async remove(): Promise<void> {
    await mapInParallel(this.packages, AT_ONCE, ({ name }) => this.#world.removed("ClusterExtension", name));
  }
}
