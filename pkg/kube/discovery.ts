import { type GroupVersionKind, getGroup, getVersion } from "../api/k8s.ts";
import { KindNotServed } from "./errors.ts";

/** The resource of one kind. */
export interface ApiResource {
  group: string;
  version: string;
  /** Plural name in paths and RBAC rules. */
  resource: string;
  kind: string;
  namespaced: boolean;
  verbs: readonly string[];
}

/** Reads the APIResourceList at `path`; undefined if the group version is not served (404). */
export type ResourceListReader = (path: string) => Promise<{ resources?: readonly DiscoveredResource[] } | undefined>;

interface DiscoveredResource {
  name: string;
  kind: string;
  namespaced: boolean;
  verbs?: string[];
}

type Kinds = ReadonlyMap<string, ApiResource>;

/** Returns the base path of a group version: "/api/v1" or "/apis/group/version". */
export function formatGroupVersionPath(apiVersion: string): string {
  const [group, version] = [getGroup(apiVersion), getVersion(apiVersion)].map(encodeURIComponent);
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

/**
 * Caches the resource of each kind. Reads one group version at a time, and keeps it until it lacks
 * a requested kind or `forget` is called. Only such a miss costs a request.
 */
export class Discovery {
  readonly #read: ResourceListReader;
  readonly #known = new Map<string, Kinds>();
  readonly #loading = new Map<string, Promise<Kinds>>();

  constructor(read: ResourceListReader) {
    this.#read = read;
  }

  /**
   * Returns the resource of a kind. Reads an unknown group version, and reads a known one again
   * once if the kind is missing.
   * @throws KindNotServed if the server does not serve it.
   */
  async resourceFor({ apiVersion, kind }: GroupVersionKind): Promise<ApiResource> {
    const known = this.#known.get(apiVersion)?.get(kind);
    if (known) return known;
    // Only the first read of a group version is shared, because the kind may have been added after
    // a read in progress started.
    const kinds = await (this.#known.has(apiVersion) ? this.#load(apiVersion) : this.#loadOnce(apiVersion));
    const found = kinds.get(kind);
    if (!found) throw new KindNotServed(apiVersion, kind);
    return found;
  }

  /** Drops the cached data of a group version after one of its paths was not found. */
  forget(apiVersion: string): void {
    this.#known.delete(apiVersion);
  }

  #loadOnce(apiVersion: string): Promise<Kinds> {
    const under = this.#loading.get(apiVersion);
    if (under) return under;
    const loading = this.#load(apiVersion).finally(() => this.#loading.delete(apiVersion));
    this.#loading.set(apiVersion, loading);
    return loading;
  }

  async #load(apiVersion: string): Promise<Kinds> {
    const list = await this.#read(formatGroupVersionPath(apiVersion));
    const kinds = new Map<string, ApiResource>();
    for (const { name, kind, namespaced, verbs = [] } of list?.resources ?? []) {
      if (name.includes("/") || kinds.has(kind)) continue;
      kinds.set(kind, { group: getGroup(apiVersion), version: getVersion(apiVersion), resource: name, kind, namespaced, verbs });
    }
    this.#known.set(apiVersion, kinds);
    return kinds;
  }
}
