import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Informer } from "../../controller/informer.ts";
import { type Dependent, dependentsOf } from "../../resolve/dependencies/dependents.ts";
import type { InstalledBundles } from "../installed/installedBundles.ts";
import type { ExtensionMemory } from "../memory.ts";
import type { ClusterApis } from "../served/clusterApis.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { neighboursFrom } from "./neighbours.ts";

/** What Dependents is built from. */
export interface DependentsOptions {
  extensions: Pick<Informer<ClusterExtension>, "get">;
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "resources">;
  constraints: ConstraintCache;
  memory: Pick<ExtensionMemory, "isUninstalling">;
}

/** Who depends on what an extension has installed. */
export class Dependents {
  readonly #options: DependentsOptions;

  constructor(options: DependentsOptions) {
    this.#options = options;
  }

  /**
   * The extensions that depend on this one now, see `dependentsOf`. Those that are being deleted do not count, nor do those whose
   * `spec.dependencies.policy` is Ignore; what is being uninstalled already is nothing to count on.
   * @returns undefined while what extensions have installed is being read for the first time.
   * @throws KubeError when the API server does not tell what it serves, which is asked only where something depends on something.
   */
  async of(extension: string): Promise<readonly Dependent[] | undefined> {
    const { installed, apis, memory } = this.#options;
    if (installed.unread().some((name) => name !== extension)) return undefined;
    const bundles = installed.list().filter((bundle) => bundle.extension === extension || !memory.isUninstalling(bundle.extension));
    const members = await neighboursFrom(bundles, this.#options);
    if (!members.some((member) => member.extension !== extension && member.declared.constraints.length > 0)) return [];
    const going = new Set(members.map((member) => member.extension).filter((name) => name !== extension && this.#isDeleted(name)));
    return dependentsOf({ leaving: extension, going, installed: members, served: await apis.resources() });
  }

  #isDeleted(extension: string): boolean {
    return this.#options.extensions.get(extension)?.metadata.deletionTimestamp !== undefined;
  }
}
