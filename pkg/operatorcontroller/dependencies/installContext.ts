import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Informer } from "../../controller/informer.ts";
import type { ServedResource } from "../../kube/servedResources.ts";
import { getGvkKey } from "../../resolve/constraint/parse.ts";
import type { InstallContext, InstalledPeer } from "../../resolve/dependencies/dependencyCheck.ts";
import { type Dependent, findDependents } from "../../resolve/dependencies/dependents.ts";
import type { ServedApi } from "../../resolve/solver/problem.ts";
import { compareText } from "../../text/compare.ts";
import { formatCount } from "../../text/lists.ts";
import type { InstalledBundles, InstalledProvider } from "../releases/installedReleases.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import type { ClusterApi, ClusterApis } from "./clusterApis.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { isDependencyExtension, parseDependents } from "./dependencyLabels.ts";

const NO_CONSTRAINTS = { constraints: [], faults: [] };

/** Returns installed bundles by name of extension, with their constraints; none if `spec.dependencies.policy` is Ignore. */
async function readPeers(
  bundles: ReturnType<InstalledBundles["list"]>,
  { constraints, extensions }: { constraints: ConstraintCache; extensions: Pick<Informer<ClusterExtension>, "get"> },
): Promise<InstalledPeer[]> {
  await constraints.prepare(bundles.map(({ properties }) => properties));
  const inOrder = bundles.toSorted((a, b) => compareText(a.extension, b.extension));
  return inOrder.map((provider) => {
    const spec = extensions.get(provider.extension)?.spec;
    const isBound = spec?.dependencies?.policy !== "Ignore";
    return {
      extension: provider.extension,
      bundle: provider.name,
      provider,
      declared: isBound ? constraints.read(provider) : NO_CONSTRAINTS,
      source: spec?.source.catalog,
      checksDependencies: isBound,
    };
  });
}

/** Dependencies of InstallContextReader. */
export interface InstallContextReaderOptions {
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "served">;
  constraints: ConstraintCache;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  memory: Pick<ExtensionCache, "isUninstalling">;
}

/** Maximum interval in milliseconds of the check whether all releases have been read. */
const UNREAD_MS = 1_000;

/** Reads the install context of an extension: the other installed bundles, and the served APIs. */
export class InstallContextReader {
  readonly #options: InstallContextReaderOptions;

  constructor(options: InstallContextReaderOptions) {
    this.#options = options;
  }

  /** Whether the installed bundles of all extensions are known. */
  get isKnown(): boolean {
    return this.#options.installed.unread().length === 0;
  }

  /** Reports whether the installed bundle of another extension declares a constraint. */
  async hasConstraints(extension: string): Promise<boolean> {
    return (await this.#installed()).some((one) => one.extension !== extension && one.declared.constraints.length > 0);
  }

  /**
   * Reads the current install context of an extension.
   * @throws WaitingError while installed releases are being read. @throws KubeError if the API server does not list its
   * APIs.
   */
  async read(extension: string): Promise<InstallContext> {
    const { installed, apis } = this.#options;
    const unread = installed.unread();
    if (unread.length > 0)
      throw new WaitingError("Retrying", `waiting until the releases of ${formatCount(unread.length, "extension")} have been read`, {
        isOver: () => Promise.resolve(installed.unread().length === 0),
        everyMs: UNREAD_MS,
      });
    const all = await this.#installed();
    const own = all.find((one) => one.extension === extension);
    return { peers: all.filter((one) => one !== own), own, served: listUnprovidedApis(await apis.served(), installed.list()) };
  }

  /** Returns the installed bundles, except those that are being uninstalled. */
  #installed(): Promise<InstalledPeer[]> {
    const { installed, memory } = this.#options;
    return readPeers(
      installed.list().filter(({ extension }) => !memory.isUninstalling(extension)),
      this.#options,
    );
  }
}

/**
 * Returns the served APIs that no installed bundle provides. APIs of an installed bundle disappear with the bundle. An API of an extension without an
 * installed bundle has no owner: its installation has started, and the bundle that is being installed must be able to provide the API.
 */
function listUnprovidedApis(served: readonly ClusterApi[], installed: readonly InstalledProvider[]): readonly ServedApi[] {
  const provided = new Set(installed.flatMap(({ apis }) => apis.map(getGvkKey)));
  const extensions = new Set(installed.map(({ extension }) => extension));
  return served
    .filter(({ gvk }) => !provided.has(getGvkKey(gvk)))
    .map(({ gvk, owner, extension }) => ({ gvk, owner: extension === undefined || extensions.has(extension) ? owner : undefined }));
}

/** Removes the extensions from `unneeded` that an installed bundle of another extension needs, directly or through others of them. */
function removeNeeded(
  unneeded: Set<string>,
  leaving: ReadonlySet<string>,
  members: readonly InstalledPeer[],
  served: readonly ServedResource[],
): ReadonlySet<string> {
  for (const name of unneeded) {
    const others = [...unneeded].filter((other) => other !== name);
    const isInstalled = members.some((member) => member.extension === name);
    const going = new Set([...leaving, ...others]);
    if (isInstalled && findDependents({ leaving: name, going, installed: members, served }).length === 0) continue;
    unneeded.delete(name);
    // Bundles that this one needs are needed too, also those that were visited before: visit all again.
    for (const other of others) {
      unneeded.delete(other);
      unneeded.add(other);
    }
  }
  return unneeded;
}

/** Dependencies of Dependents. */
export interface DependentsOptions {
  extensions: Pick<Informer<ClusterExtension>, "get">;
  installed: Pick<InstalledBundles, "list" | "unread">;
  apis: Pick<ClusterApis, "resources">;
  constraints: ConstraintCache;
  memory: Pick<ExtensionCache, "isUninstalling">;
}

/** Finds the extensions that depend on the installed bundle of another extension. */
export class Dependents {
  readonly #options: DependentsOptions;

  constructor(options: DependentsOptions) {
    this.#options = options;
  }

  /**
   * Returns the extensions that currently depend on this extension, see `findDependents`. Ignores extensions that are
   * being deleted or whose `spec.dependencies.policy` is Ignore, and providers that are being uninstalled.
   * @returns undefined until all releases have been read once.
   * @throws KubeError if the API server does not list its APIs, which is requested only if any constraint exists.
   */
  async of(extension: string): Promise<readonly Dependent[] | undefined> {
    const { installed, apis } = this.#options;
    if (installed.unread().some((name) => name !== extension)) return undefined;
    const members = await this.#readMembers(new Set([extension]));
    if (!members.some((member) => member.extension !== extension && member.declared.constraints.length > 0)) return [];
    const served = await apis.resources();
    const released = this.#findReleased(extension, members, served);
    const going = new Set(
      members.map((member) => member.extension).filter((name) => name !== extension && (released.has(name) || this.#isDeleted(name))),
    );
    return findDependents({ leaving: extension, going, installed: members, served });
  }

  /**
   * Returns those of these extensions that no other extension needs, directly or through others of them. Extensions without an installed bundle are
   * not among them. Empty until all releases have been read once.
   */
  async listUnneeded(extensions: readonly string[]): Promise<ReadonlySet<string>> {
    const { installed, apis } = this.#options;
    if (installed.unread().length > 0) return new Set();
    const unneeded = new Set(extensions);
    return removeNeeded(unneeded, new Set(), await this.#readMembers(unneeded), await apis.resources());
  }

  /**
   * Returns the extensions that the uninstall of an extension releases: those that were created as its dependencies or as dependencies of these, have
   * no other dependent that stays, and are not needed by another installed bundle. Empty until all releases have been read once.
   */
  async listReleased(extension: string): Promise<ReadonlySet<string>> {
    const { installed, apis } = this.#options;
    if (installed.unread().length > 0) return new Set();
    return this.#findReleased(extension, await this.#readMembers(new Set()), await apis.resources());
  }

  #findReleased(extension: string, members: readonly InstalledPeer[], served: readonly ServedResource[]): ReadonlySet<string> {
    const released = new Set<string>();
    const leaving = new Set([extension, ...members.map((member) => member.extension).filter((name) => this.#isDeleted(name))]);
    const stays = (name: string): boolean => !leaving.has(name) && !released.has(name) && this.#options.extensions.get(name) !== undefined;
    // Extensions that were released meanwhile are appended while iterating.
    const owners = new Set(leaving);
    for (const owner of owners)
      for (const name of this.#listOnlyNeededBy(owner, members, stays)) {
        released.add(name);
        owners.add(name);
      }
    return removeNeeded(released, leaving, members, served);
  }

  /** Returns the extensions that were created as dependencies of `owner` and have no dependent that stays, according to their labels. */
  #listOnlyNeededBy(owner: string, members: readonly InstalledPeer[], stays: (name: string) => boolean): string[] {
    return members.flatMap(({ extension: name }) => {
      const found = this.#options.extensions.get(name);
      if (!found || !stays(name) || !isDependencyExtension(found)) return [];
      const dependents = parseDependents(found).map((dependent) => dependent.name);
      return dependents.includes(owner) && !dependents.some(stays) ? [name] : [];
    });
  }

  /** Reads the installed bundles, except those that are being uninstalled and not in `included`. */
  #readMembers(included: ReadonlySet<string>): Promise<InstalledPeer[]> {
    const { installed, memory } = this.#options;
    const bundles = installed.list().filter((bundle) => included.has(bundle.extension) || !memory.isUninstalling(bundle.extension));
    return readPeers(bundles, this.#options);
  }

  #isDeleted(extension: string): boolean {
    return this.#options.extensions.get(extension)?.metadata.deletionTimestamp !== undefined;
  }
}
