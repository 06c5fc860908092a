import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import type { CallOptions } from "../../kube/request.ts";
import { isObjectSetOf, OBJECT_SET_KINDS } from "../../release/objectSet.ts";
import { listReleasesWithObjects, type ReleaseRecord, sortNewestFirst } from "../../release/record.ts";
import type { DecodedRelease } from "../../release/storage/decode.ts";
import { readObjectSetReleases, toReleaseOwner } from "./objectSetReader.ts";
import { type ReleaseHistory, ReleaseStore } from "./releaseStore.ts";

/**
 * Reads the releases of extensions for users: those in Secrets, and those in object sets that operator-controller has not imported yet. Writes
 * nothing. Create one for each command or request, because it asks only once which kinds of object sets the API server serves.
 */
export class ReadOnlyReleases {
  readonly #client: Client;
  readonly #systemNamespace: string;
  readonly #store: ReleaseStore;
  /** Kinds that are not served, or that the user may not list. */
  readonly #withoutSets = new Set<string>();

  /** The releases in the object sets of an extension, by its name. */
  readonly #imported = new Map<string, readonly ReleaseRecord[]>();

  constructor(client: Client, systemNamespace: string) {
    this.#client = client;
    this.#systemNamespace = systemNamespace;
    this.#store = new ReleaseStore(client, systemNamespace);
  }

  /**
   * Returns the releases of an extension as operator-controller sees them after the import. Omits object sets that the user may not list.
   * @throws ObjectSetUnreadable if an active object set cannot be read; KubeError if a request fails or is denied
   */
  async history(extension: Readonly<ClusterExtension>, calls: CallOptions = {}): Promise<ReleaseHistory> {
    const { history, imported } = await this.#read(extension, calls);
    return addImported(history, imported);
  }

  /**
   * Reads one release completely; undefined if it does not exist.
   * @throws the errors of `history`
   */
  async read(extension: Readonly<ClusterExtension>, version: number, calls: CallOptions = {}): Promise<DecodedRelease | undefined> {
    const { name } = extension.metadata;
    const imported = this.#imported.get(name) ?? (await this.#read(extension, calls)).imported;
    const record = imported.find((one) => one.version === version);
    return record ? { kind: "readable", record } : this.#store.read(name, version, calls);
  }

  async #read(
    extension: Readonly<ClusterExtension>,
    calls: CallOptions,
  ): Promise<{ readonly history: ReleaseHistory; readonly imported: readonly ReleaseRecord[] }> {
    const history = await this.#store.history(toReleaseOwner(extension), calls);
    const found = await this.#listSets(extension, calls);
    const options = { ...calls, client: this.#client, systemNamespace: this.#systemNamespace };
    const imported = (await readObjectSetReleases(extension, found, history, options)) ?? [];
    this.#imported.set(extension.metadata.name, imported);
    return { history, imported };
  }

  async #listSets(extension: Readonly<ClusterExtension>, { signal }: CallOptions): Promise<KubeObject[]> {
    const owner = toReleaseOwner(extension);
    const kinds = OBJECT_SET_KINDS.filter(({ kind }) => !this.#withoutSets.has(kind));
    const lists = kinds.map(async (gvk) => {
      try {
        return (await this.#client.list(gvk, { labelSelector: `${LABEL_OWNER_NAME}=${owner.name}`, signal })).items;
      } catch (err) {
        if (!(err instanceof KindNotServed) && !isForbidden(err)) throw err;
        this.#withoutSets.add(gvk.kind);
        return [];
      }
    });
    return (await Promise.all(lists)).flat().filter((set) => isObjectSetOf(set, owner));
  }
}

/** Returns the history after an import. */
function addImported(history: ReleaseHistory, imported: readonly ReleaseRecord[]): ReleaseHistory {
  if (imported.length === 0) return history;
  const versions = new Set(imported.map(({ version }) => version));
  const records = [...history.current.filter(({ version }) => !versions.has(version)), ...imported];
  const all = sortNewestFirst([...records, ...history.older.filter(({ version }) => !versions.has(version))]);
  const leaving = new Set(listReleasesWithObjects(all));
  return {
    ...history,
    current: sortNewestFirst(records.filter((record) => leaving.has(record))),
    older: all.filter((one) => !leaving.has(one)).map(({ version, status }) => ({ version, status })),
    unfinished: [],
    highest: Math.max(history.highest, ...versions),
  };
}
