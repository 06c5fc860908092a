import type { KubeObject } from "../api/k8s.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists } from "../kube/errors.ts";
import { decodeRelease, encodeRelease, extraChunks, RELEASE_OWNER, releaseKey } from "../release/encode.ts";
import { leavingObjects } from "../release/history.ts";
import { newestFirst, RELEASE_STATUSES, type ReleaseRecord, type ReleaseSummary } from "../release/record.ts";

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;

interface Owner {
  name: string;
  uid: string;
}

/** The releases of one extension, each list newest first. */
export interface ReleaseHistory {
  /** The last deployed release and every attempt after it; all of them where none was ever deployed. */
  current: ReleaseRecord[];
  /** What came before, without content. */
  older: ReleaseSummary[];
}

/**
 * The numbered releases of extensions, kept as chunked Secrets in the system namespace with the controller's own rights.
 * A write leaves either the old or the new release readable: chunks are named by content and written before the index.
 * @see helm-operator-plugins pkg/storage/chunked.go v0.9
 */
export class ReleaseStore {
  readonly #client: Client;
  readonly #systemNamespace: string;

  constructor(client: Client, systemNamespace: string) {
    this.#client = client;
    this.#systemNamespace = systemNamespace;
  }

  /**
   * The releases of an extension. Only those that say something about the cluster's state are decoded:
   * the last deployed one and every attempt after it.
   */
  async history(extension: string): Promise<ReleaseHistory> {
    const secrets = await this.#secrets(`owner=${RELEASE_OWNER},name=${extension},type=index`);
    const indexes = secrets.map((secret) => ({ secret, ...summaryOf(secret) }));
    const current = leavingObjects(indexes);
    const older = newestFirst(indexes).filter((index) => !current.includes(index));
    return {
      current: await Promise.all(current.map(({ secret }) => this.#decode(secret))),
      older: older.map(({ version, status }) => ({ version, status })),
    };
  }

  /**
   * Stores a new release. Its number is the fence between two controllers: only one of them can create it.
   * @throws RetryableError Retrying when that number exists already.
   */
  async create(record: ReleaseRecord, owner: Owner): Promise<void> {
    const [index, ...chunks] = encodeRelease(record, { systemNamespace: this.#systemNamespace, owner });
    if (!index) throw new Error(`release ${record.name} v${record.version} has no index Secret`);
    try {
      const stored = await this.#client.create(index);
      await this.#createChunks(chunks, stored);
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      const text = `release "${record.name}" v${record.version} exists already: another controller is at work on this extension`;
      throw new RetryableError("Retrying", text, { cause: err });
    }
  }

  /** Stores a changed release under its number. */
  async update(record: ReleaseRecord, owner: Owner): Promise<void> {
    const key = releaseKey(record.name, record.version);
    const live = await this.#client.get({ ...SECRET, name: key, namespace: this.#systemNamespace });
    if (!live)
      throw new RetryableError("Retrying", `release "${record.name}" v${record.version} is gone from namespace "${this.#systemNamespace}"`);
    const [index, ...chunks] = encodeRelease(record, { systemNamespace: this.#systemNamespace, owner });
    if (!index) throw new Error(`release ${record.name} v${record.version} has no index Secret`);
    const known = new Set((await this.#chunksOf(key)).map((chunk) => chunk.metadata.name));
    const fresh = chunks.filter((chunk) => !known.has(chunk.metadata.name));
    await this.#createChunks(fresh, live);
    const labels = {
      ...index.metadata.labels,
      createdAt: live.metadata.labels?.["createdAt"] ?? "",
      modifiedAt: index.metadata.labels?.["createdAt"] ?? "",
    };
    await this.#client.replace({ ...index, metadata: { ...live.metadata, labels } });
    const wanted = new Set(chunks.map((chunk) => chunk.metadata.name));
    for (const name of known) if (!wanted.has(name)) await this.#delete(name);
  }

  /** Removes one release with its chunks. */
  async remove(extension: string, version: number): Promise<void> {
    const key = releaseKey(extension, version);
    await this.#delete(key);
    for (const chunk of await this.#chunksOf(key)) await this.#delete(chunk.metadata.name);
  }

  async #decode(index: KubeObject): Promise<ReleaseRecord> {
    return decodeRelease(index, extraChunks(index).length > 0 ? await this.#chunksOf(index.metadata.name) : []);
  }

  async #createChunks(chunks: readonly KubeObject[], index: KubeObject): Promise<void> {
    const { name } = index.metadata;
    const uid = index.metadata.uid ?? "";
    const ownerReferences = [{ ...SECRET, name, uid, controller: true, blockOwnerDeletion: false }];
    for (const chunk of chunks) await this.#client.create({ ...chunk, metadata: { ...chunk.metadata, ownerReferences } });
  }

  #chunksOf(key: string): Promise<KubeObject[]> {
    return this.#secrets(`owner=${RELEASE_OWNER},key=${key},type=chunk`);
  }

  async #secrets(labelSelector: string): Promise<KubeObject[]> {
    const { items } = await this.#client.list(SECRET, { namespace: this.#systemNamespace, labelSelector });
    return items;
  }

  async #delete(name: string): Promise<void> {
    await this.#client.delete({ ...SECRET, name, namespace: this.#systemNamespace });
  }
}

/** What the labels of an index Secret say; a status that is no known one counts as unknown. */
function summaryOf({ metadata }: KubeObject): ReleaseSummary {
  const { version = "0", status = "" } = metadata.labels ?? {};
  return { version: Number(version), status: RELEASE_STATUSES.find((known) => known === status) ?? "unknown" };
}
