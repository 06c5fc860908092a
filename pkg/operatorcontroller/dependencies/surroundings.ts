import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Informer } from "../../controller/informer.ts";
import type { Provider } from "../../resolve/constraint/constraint.ts";
import { gvkKey } from "../../resolve/constraint/parse.ts";
import type { Environment, Neighbour } from "../../resolve/dependencies/dependencyCheck.ts";
import { counted } from "../../resolve/wording.ts";
import type { InstalledBundles } from "../installed/installedBundles.ts";
import type { ExtensionMemory } from "../memory.ts";
import type { ClusterApi, ClusterApis } from "../served/clusterApis.ts";
import { WaitingError } from "../waiting.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { neighboursFrom } from "./neighbours.ts";

/** What surroundings are made of. */
export interface SurroundingsOptions {
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "served">;
  constraints: ConstraintCache;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  memory: Pick<ExtensionMemory, "isUninstalling">;
}

/** Longest time between two looks whether everything has been read. */
const UNREAD_MS = 1_000;

/** Tells what a bundle of an extension would be installed among. */
export class Surroundings {
  readonly #options: SurroundingsOptions;

  constructor(options: SurroundingsOptions) {
    this.#options = options;
  }

  /** Whether everything that extensions have installed has been read. */
  get isKnown(): boolean {
    return this.#options.installed.unread().length === 0;
  }

  /** Whether anything that another extension has installed asks something of others. */
  async matterTo(extension: string): Promise<boolean> {
    return (await this.#installed()).some((one) => one.extension !== extension && one.declared.constraints.length > 0);
  }

  /**
   * The environment of an extension as it is now.
   * @throws WaitingError while what extensions have installed is being read; KubeError when the API server does not tell what it serves.
   */
  async of(extension: string): Promise<Environment> {
    const { installed, apis } = this.#options;
    const unread = installed.unread();
    if (unread.length > 0)
      throw new WaitingError("Retrying", `the releases of ${counted(unread.length, "extension")} are being read`, {
        isOver: () => Promise.resolve(installed.unread().length === 0),
        everyMs: UNREAD_MS,
      });
    const all = await this.#installed();
    const own = all.find((one) => one.extension === extension);
    return { neighbours: all.filter((one) => one !== own), own, served: unprovided(await apis.served(), installed.list()) };
  }

  /** What is being uninstalled is nothing to count on, and who ignores dependencies asks for nothing. */
  #installed(): Promise<Neighbour[]> {
    const { installed, memory } = this.#options;
    return neighboursFrom(
      installed.list().filter(({ extension }) => !memory.isUninstalling(extension)),
      this.#options,
    );
  }
}

/** What is served and none of the bundles provides: the APIs of those go with them. */
function unprovided(served: readonly ClusterApi[], providers: readonly Provider[]): readonly ClusterApi[] {
  const provided = new Set(providers.flatMap(({ apis }) => apis.map(gvkKey)));
  return served.filter(({ gvk }) => !provided.has(gvkKey(gvk)));
}
