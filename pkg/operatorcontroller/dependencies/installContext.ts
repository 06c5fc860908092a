import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Informer } from "../../controller/informer.ts";
import type { Provider } from "../../resolve/constraint/constraint.ts";
import { gvkKey } from "../../resolve/constraint/parse.ts";
import type { InstallContext, InstalledPeer } from "../../resolve/dependencies/dependencyCheck.ts";
import { type Dependent, findDependents } from "../../resolve/dependencies/dependents.ts";
import { formatCount } from "../../text/lists.ts";
import type { InstalledBundles } from "../releases/installedReleases.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { WaitingError } from "../state/waiting.ts";
import type { ClusterApi, ClusterApis } from "./clusterApis.ts";
import type { ConstraintCache } from "./constraintCache.ts";

const NO_CONSTRAINTS = { constraints: [], faults: [] };

/** Installed bundles with what they ask of others: nothing where `spec.dependencies.policy` is Ignore. */
async function readPeers(
  bundles: ReturnType<InstalledBundles["list"]>,
  { constraints, extensions }: { constraints: ConstraintCache; extensions: Pick<Informer<ClusterExtension>, "get"> },
): Promise<InstalledPeer[]> {
  await constraints.prepare(bundles.map(({ properties }) => properties));
  return bundles.map((provider) => {
    const isBound = extensions.get(provider.extension)?.spec?.dependencies?.policy !== "Ignore";
    return {
      extension: provider.extension,
      bundle: provider.name,
      provider,
      declared: isBound ? constraints.read(provider) : NO_CONSTRAINTS,
    };
  });
}

/** The parts that install contexts are read from. */
export interface InstallContextReaderOptions {
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "served">;
  constraints: ConstraintCache;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  memory: Pick<ExtensionCache, "isUninstalling">;
}

/** Longest time between two looks whether everything has been read. */
const UNREAD_MS = 1_000;

/** Reads what a bundle of an extension would be installed with. */
export class InstallContextReader {
  readonly #options: InstallContextReaderOptions;

  constructor(options: InstallContextReaderOptions) {
    this.#options = options;
  }

  /** Whether everything that extensions have installed has been read. */
  get isKnown(): boolean {
    return this.#options.installed.unread().length === 0;
  }

  /** Reports whether the installed bundle of another extension declares a constraint. */
  async hasConstraints(extension: string): Promise<boolean> {
    return (await this.#installed()).some((one) => one.extension !== extension && one.declared.constraints.length > 0);
  }

  /**
   * Reads the install context of an extension as it is now.
   * @throws WaitingError while what extensions have installed is being read; KubeError when the API server does not tell what it serves.
   */
  async read(extension: string): Promise<InstallContext> {
    const { installed, apis } = this.#options;
    const unread = installed.unread();
    if (unread.length > 0)
      throw new WaitingError("Retrying", `the releases of ${formatCount(unread.length, "extension")} are being read`, {
        isOver: () => Promise.resolve(installed.unread().length === 0),
        everyMs: UNREAD_MS,
      });
    const all = await this.#installed();
    const own = all.find((one) => one.extension === extension);
    return { peers: all.filter((one) => one !== own), own, served: unprovided(await apis.served(), installed.list()) };
  }

  /** Bundles that are being uninstalled provide nothing, and extensions that ignore dependencies declare no constraint. */
  #installed(): Promise<InstalledPeer[]> {
    const { installed, memory } = this.#options;
    return readPeers(
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

/** What Dependents is built from. */
export interface DependentsOptions {
  extensions: Pick<Informer<ClusterExtension>, "get">;
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "resources">;
  constraints: ConstraintCache;
  memory: Pick<ExtensionCache, "isUninstalling">;
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
    const members = await readPeers(bundles, this.#options);
    if (!members.some((member) => member.extension !== extension && member.declared.constraints.length > 0)) return [];
    const going = new Set(members.map((member) => member.extension).filter((name) => name !== extension && this.#isDeleted(name)));
    return findDependents({ leaving: extension, going, installed: members, served: await apis.resources() });
  }

  #isDeleted(extension: string): boolean {
    return this.#options.extensions.get(extension)?.metadata.deletionTimestamp !== undefined;
  }
}
