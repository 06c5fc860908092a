import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { LRUCache } from "lru-cache";
import type { KubeObject, ObjectMeta } from "../../api/k8s.ts";
import { Turns } from "../../async/concurrency.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import type { CallOptions } from "../../kube/request.ts";
import { listReleasesWithObjects, type ReleaseRecord, type ReleaseSummary, sortNewestFirst } from "../../release/record.ts";
import {
  ANNOTATION_INCOMPLETE,
  type CompressedRelease,
  createDecompressionError,
  createPayloadLimitError,
  type DecodedRelease,
  decodeRelease,
  formatUnreadable,
  joinChunks,
  markUnreadable,
  parseExtraChunks,
  parseReleaseIndex,
  type ReleaseIndex,
  readRelease,
  type UnreadableRelease,
} from "../../release/storage/decode.ts";
import {
  buildReleaseSecrets,
  type EncodeOptions,
  encodePayload,
  encodeRelease,
  GZIP_OPTIONS,
  getKeyLabel,
  getReleaseKey,
  PAYLOAD_LIMITS,
  RELEASE_OWNER,
} from "../../release/storage/encode.ts";
import { PayloadReader } from "../../release/storage/payloadReader.ts";

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Maximum number of attempts to read a history that changes at the same time. */
const MAX_READS = 5;
/** Maximum number of extensions whose last resourceVersion is kept. */
const MAX_SEEN = 10_000;

/** The extension that owns releases. */
export interface ReleaseOwner {
  name: string;
  uid: string;
}

/** The releases of one extension, each list newest first. */
export interface ReleaseHistory {
  /** The last deployed release and all later attempts; all releases if none was ever deployed. */
  current: ReleaseRecord[];
  /** The earlier releases, without content. */
  older: ReleaseSummary[];
  /** Releases whose record was not stored completely. None of their objects were applied. */
  unfinished: number[];
  /**
   * The highest revision in use, including releases of an earlier extension with this name that are not garbage-collected yet; 0 without releases.
   */
  highest: number;
  /** Whether some releases have no owner, because the extension or an earlier extension with this name was deleted with --cascade=orphan. */
  orphaned: boolean;
  /** Unreadable Secrets that may contain a current or deployed release of the extension. While one exists, nothing may be written. */
  unreadable: readonly UnreadableRelease[];
  /** Releases of another extension with the same name, without content. The garbage collector removes them. */
  foreign: ReleaseSummary[];
  /** Names and resourceVersions of the index Secrets; equal if no release has changed. */
  etag: string;
}

/** Returns the history of an extension that never had a release. */
export function newReleaseHistory(): ReleaseHistory {
  return { current: [], older: [], unfinished: [], highest: 0, orphaned: false, unreadable: [], foreign: [], etag: "" };
}

/** Returns a history in which `release` replaces the current release with the same revision. */
export function replaceCurrent(history: ReleaseHistory, release: ReleaseRecord): ReleaseHistory {
  return { ...history, current: history.current.map((one) => (one.version === release.version ? release : one)) };
}

/** Thrown if a release cannot be read. A retry succeeds when the Secret has been restored or deleted. */
export class ReleaseUnreadable extends RetryableError {
  readonly releases: readonly UnreadableRelease[];

  /** @param parts.doing the failed action, followed by ": " or "; "; `parts.effect` describes what is blocked until the Secret is restored. */
  constructor(
    releases: readonly [UnreadableRelease, ...UnreadableRelease[]],
    { doing = "", effect = "" }: { doing?: string | undefined; effect?: string } = {},
  ) {
    const [first, ...others] = releases;
    const more = others.length === 0 ? "" : `; ${others.length} more releases cannot be read`;
    super("Retrying", `${doing}${formatUnreadable(first)}${more}. Restore or delete this Secret${effect}`);
    this.releases = releases;
  }
}

/**
 * Checks that a history has no unreadable releases.
 * @throws ReleaseUnreadable with the name of the Secret.
 */
export function requireReadable({ unreadable: [first, ...others] }: Pick<ReleaseHistory, "unreadable">, doing?: string): void {
  if (first)
    throw new ReleaseUnreadable([first, ...others], {
      doing,
      effect: "; until then, the controller does not change or uninstall the extension",
    });
}

/**
 * Returns the record of a decoded release; undefined if the release does not exist or is incomplete.
 * @throws ReleaseUnreadable with the name of the Secret.
 */
export function getRecord(release: DecodedRelease | undefined): ReleaseRecord | undefined {
  if (release?.kind === "unreadable") throw new ReleaseUnreadable([release]);
  return release?.kind === "readable" ? release.record : undefined;
}

/** Options of `history`. */
export interface HistoryOptions extends CallOptions {
  /** Include changes by others until now, which may cost 100 ms. */
  isConsistent?: boolean;
  /** An earlier result. Returned if no release has changed since, so that no release is decoded again. */
  known?: ReleaseHistory | undefined;
}

/** Encodes releases to Secrets, and decodes them. */
interface ReleaseCodec {
  encode(...args: Parameters<typeof encodeRelease>): KubeObject[] | Promise<KubeObject[]>;
  decode(...args: Parameters<typeof decodeRelease>): DecodedRelease | Promise<DecodedRelease>;
}

/** Observes every release that the store has read or written completely, with the metadata of its index Secret. */
export interface ReleaseObserver {
  note(index: ObjectMeta, record: ReleaseRecord): void;
}

/** Thrown if a Secret was written between two reads that must be consistent. */
class ChangedMeanwhile extends RetryableError {}

/**
 * Stores the numbered releases of extensions as chunked Secrets in the system namespace, with the controller's own permissions. A reader sees either
 * the old release or the new one: chunk names depend on the content, new chunks are created before the index refers to them, and stale chunks are
 * deleted after the index is updated. If a release is written while it is read, the reader reads it again.
 * @see helm-operator-plugins v0.9.1 pkg/storage/chunked.go
 */
export class ReleaseStore {
  readonly #client: Client;
  readonly #systemNamespace: string;
  readonly #observer: ReleaseObserver | undefined;
  readonly #codec: ReleaseCodec;
  /**
   * The resourceVersion of the last read or write of an extension's index Secrets. Only the leader writes releases, so a later read may be as old as
   * this: it contains everything that this process read or wrote before. The first read, and a read after a delete or a failed write, is consistent.
   */
  readonly #seen = new LRUCache<string, string>({ max: MAX_SEEN });

  /** @param codec set it in a process that must stay responsive. Default: a synchronous codec. */
  constructor(
    client: Client,
    systemNamespace: string,
    observer?: ReleaseObserver,
    codec: ReleaseCodec = { encode: encodeRelease, decode: decodeRelease },
  ) {
    this.#client = client;
    this.#systemNamespace = systemNamespace;
    this.#observer = observer;
    this.#codec = codec;
  }

  /**
   * Reads the releases of an extension. Reads only current and deployed releases completely. Omits releases of an earlier extension with the same
   * name, which the garbage collector will delete. Contains everything that this store read or wrote before; changes by others may be missing for
   * milliseconds unless `isConsistent` is set.
   * @throws RetryableError Retrying if the Secrets keep changing; KubeError if a request fails or is denied.
   */
  async history(owner: ReleaseOwner, { isConsistent = false, ...options }: HistoryOptions = {}): Promise<ReleaseHistory> {
    if (isConsistent) this.#seen.delete(owner.name);
    for (let read = 1; ; read++) {
      try {
        return await this.#history(owner, options);
      } catch (err) {
        if (!(err instanceof ChangedMeanwhile) || read === MAX_READS) throw err;
        this.#seen.delete(owner.name); // the cache of the API server may be older than the Secret
      }
    }
  }

  /**
   * Stores a new release. The revision protects against a second controller, because only one of them can create it.
   * @throws RetryableError Retrying if the revision already exists, or another Secret has its name.
   */
  async create(record: ReleaseRecord, owner: ReleaseOwner, options: CallOptions = {}): Promise<void> {
    const { index, chunks } = await this.#encode(record, owner);
    this.#seen.delete(record.name);
    const isLarge = chunks.length > 0;
    let stored: KubeObject;
    try {
      stored = await this.#client.create(isLarge ? withIncompleteMark(index) : index, options);
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      throw new RetryableError("Retrying", await this.#explainExisting(record, index.metadata, options), { cause: err });
    }
    await this.#createChunks(chunks, stored, options);
    if (isLarge) stored = await this.#client.replace(withoutIncompleteMark(stored), options);
    this.#note(stored, record);
  }

  /** Explains why the Secret of a new release already exists. */
  async #explainExisting(record: ReleaseRecord, { name, labels = {} }: ObjectMeta, options: CallOptions): Promise<string> {
    const release = `release "${record.name}" v${record.version}`;
    const live = await this.#client.get({ ...SECRET, name, namespace: this.#systemNamespace }, options);
    const isRelease = ["owner", "name", "type"].every((label) => live?.metadata.labels?.[label] === labels[label]);
    if (!live || isRelease) return `${release} already exists: another controller is reconciling this extension`;
    const secret = `Secret ${this.#systemNamespace}/${name}`;
    return `${release} cannot be stored: ${secret} (type ${goQuote(String(live["type"]))}) has its name, but not the labels of a release. Delete this Secret`;
  }

  /**
   * Stores a changed release under its number.
   * @throws KubeError 409 if another writer changed it at the same time.
   */
  async update(record: ReleaseRecord, owner: ReleaseOwner, options: CallOptions = {}): Promise<void> {
    const key = getReleaseKey(record.name, record.version);
    const live = await this.#client.get({ ...SECRET, name: key, namespace: this.#systemNamespace }, options);
    if (!live)
      throw new RetryableError(
        "Retrying",
        `release "${record.name}" v${record.version} no longer exists in namespace "${this.#systemNamespace}"`,
      );
    const { index, chunks } = await this.#encode(record, owner);
    const before = parseExtraChunks(live);
    const isSmall = chunks.length === 0 && Array.isArray(before) && before.length === 0;
    const known = new Set(isSmall ? [] : (await this.#chunksOf(key, options)).map((chunk) => chunk.metadata.name));
    const fresh = chunks.filter((chunk) => !known.has(chunk.metadata.name));
    await this.#createChunks(fresh, live, options);
    const { createdAt = "" } = live.metadata.labels ?? {};
    const labels = { ...index.metadata.labels, createdAt, modifiedAt: index.metadata.labels?.["createdAt"] ?? "" };
    const ownerReferences = index.metadata.ownerReferences ?? [];
    const { metadata } = withoutIncompleteMark(live);
    this.#seen.delete(record.name);
    const stored = await this.#client.replace({ ...index, metadata: { ...metadata, labels, ownerReferences } }, options);
    this.#note(stored, record);
    const desired = new Set(chunks.map((chunk) => chunk.metadata.name));
    for (const name of known) if (!desired.has(name)) await this.#delete(name, options);
  }

  /** Reads one release completely; undefined if it does not exist. */
  async read(extension: string, version: number, options: CallOptions = {}): Promise<DecodedRelease | undefined> {
    const key = getReleaseKey(extension, version);
    const index = await this.#client.get({ ...SECRET, name: key, namespace: this.#systemNamespace }, options);
    return index && this.#decode(index, options);
  }

  /** Deletes one release with its chunks. */
  async remove(extension: string, version: number, options: CallOptions = {}): Promise<void> {
    const key = getReleaseKey(extension, version);
    this.#seen.delete(extension);
    await this.#delete(key, options);
    for (const chunk of await this.#chunksOf(key, options)) await this.#delete(chunk.metadata.name, options);
  }

  async #history(owner: ReleaseOwner, { known, ...options }: Omit<HistoryOptions, "isConsistent">): Promise<ReleaseHistory> {
    const labelSelector = `owner=${RELEASE_OWNER},name=${owner.name},type=index`;
    const notOlderThan = this.#seen.get(owner.name);
    const listing = { namespace: this.#systemNamespace, labelSelector, metadataOnly: true, notOlderThan, ...options };
    const { items, resourceVersion } = await this.#client.list(SECRET, listing);
    // A write that ended during this read has a later resourceVersion.
    if (resourceVersion !== "" && this.#seen.get(owner.name) === notOlderThan) this.#seen.set(owner.name, resourceVersion);
    const etag = items.map(({ metadata: { name, resourceVersion } }) => `${name}@${resourceVersion ?? ""}`).join();
    if (known?.etag === etag) return known;
    const found = items.map(({ metadata }) => parseReleaseIndex(metadata));
    const all = found.filter((one) => one.kind === "index");
    const own = all.filter(({ uid }) => uid === undefined || uid === owner.uid);
    const leaving = listReleasesWithObjects(own);
    const older = sortNewestFirst(own.filter((index) => !leaving.includes(index)));
    const read = await this.#readAll(leaving, options);
    const stillDeployed = await this.#readAll(
      older.filter(({ status }) => status === "deployed"),
      options,
    );
    return {
      current: read.flatMap(({ release }) => (release.kind === "readable" ? [release.record] : [])),
      older: older.map(({ version, status }) => ({ version, status })),
      unfinished: read.flatMap(({ index, release }) => (release.kind === "unfinished" ? [index.version] : [])),
      highest: Math.max(0, ...all.map(({ version }) => version)),
      orphaned: leaving.some(({ uid }) => uid === undefined),
      unreadable: [...found, ...[...read, ...stillDeployed].map(({ release }) => release)].filter((one) => one.kind === "unreadable"),
      foreign: sortNewestFirst(all.filter((index) => !own.includes(index))).map(({ version, status }) => ({ version, status })),
      etag,
    };
  }

  #note({ metadata }: KubeObject, record: ReleaseRecord): void {
    if (metadata.resourceVersion !== undefined) this.#seen.set(record.name, metadata.resourceVersion);
    this.#observer?.note(metadata, record);
  }

  #readAll(indexes: readonly ReleaseIndex[], options: CallOptions): Promise<{ index: ReleaseIndex; release: DecodedRelease }[]> {
    return Promise.all(indexes.map(async (index) => ({ index, release: await this.#record(index, options) })));
  }

  async #record({ key }: ReleaseIndex, options: CallOptions): Promise<DecodedRelease> {
    const index = await this.#client.get({ ...SECRET, name: key, namespace: this.#systemNamespace }, options);
    if (!index) throw new ChangedMeanwhile("Retrying", `release secret "${key}" was deleted during the read`);
    return this.#decode(index, options);
  }

  async #decode(index: KubeObject, options: CallOptions): Promise<DecodedRelease> {
    const { name, resourceVersion } = index.metadata;
    const names = parseExtraChunks(index);
    if (!Array.isArray(names) || names.length === 0) return this.#decoded(index, []);
    const chunks = await this.#chunksOf(name, options);
    if (names.every((desired) => chunks.some((chunk) => chunk.metadata.name === desired))) return this.#decoded(index, chunks);
    const now = await this.#client.get({ ...SECRET, name, namespace: this.#systemNamespace }, { ...options, metadataOnly: true });
    if (now?.metadata.resourceVersion !== resourceVersion)
      throw new ChangedMeanwhile("Retrying", `release secret "${name}" changed during the read`);
    return await this.#codec.decode(index, chunks);
  }

  async #decoded(index: KubeObject, chunks: readonly KubeObject[]): Promise<DecodedRelease> {
    const release = await this.#codec.decode(index, chunks);
    if (release.kind === "readable") this.#observer?.note(index.metadata, release.record);
    return release;
  }

  async #encode(record: ReleaseRecord, owner: ReleaseOwner): Promise<{ index: KubeObject; chunks: KubeObject[] }> {
    const [index, ...chunks] = await this.#codec.encode(record, { systemNamespace: this.#systemNamespace, owner });
    if (!index) throw new Error(`release "${record.name}" v${record.version} has no index Secret`);
    return { index, chunks };
  }

  async #createChunks(chunks: readonly KubeObject[], index: KubeObject, options: CallOptions): Promise<void> {
    const { name } = index.metadata;
    const uid = index.metadata.uid ?? "";
    const ownerReferences = [{ ...SECRET, name, uid, controller: true, blockOwnerDeletion: false }];
    for (const chunk of chunks) await this.#client.create({ ...chunk, metadata: { ...chunk.metadata, ownerReferences } }, options);
  }

  async #chunksOf(key: string, options: CallOptions): Promise<KubeObject[]> {
    const labelSelector = `owner=${RELEASE_OWNER},key=${getKeyLabel(key)},type=chunk`;
    return (await this.#client.list(SECRET, { namespace: this.#systemNamespace, labelSelector, ...options })).items;
  }

  async #delete(name: string, options: CallOptions): Promise<void> {
    await this.#client.delete({ ...SECRET, name, namespace: this.#systemNamespace }, options);
  }
}

/** Marks an index whose chunks are not stored yet. Objects of such a release are not applied. */
function withIncompleteMark(index: KubeObject): KubeObject {
  const { metadata } = index;
  return { ...index, metadata: { ...metadata, annotations: { ...metadata.annotations, [ANNOTATION_INCOMPLETE]: "true" } } };
}

function withoutIncompleteMark(index: KubeObject): KubeObject {
  const { annotations, ...metadata } = index.metadata;
  const { [ANNOTATION_INCOMPLETE]: _mark, ...others } = annotations ?? {};
  return { ...index, metadata: { ...metadata, ...(Object.keys(others).length > 0 ? { annotations: others } : {}) } };
}

/** Number of bytes of a payload that are in memory at the same time, before and after zlib. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Encodes and decodes releases like `encodeRelease` and `decodeRelease`, but does not block the event loop or keep a complete payload in memory: zlib
 * runs in its own threads with chunks of 64 KiB, and the rest runs in short turns. Processes one release at a time, in the order of the calls. Does
 * not use a worker thread: Node.js aborts when a thread ends while it creates a zlib stream, and a thread needs 20 MB.
 */
export class StreamingCodec implements ReleaseCodec {
  #last: Promise<unknown> = Promise.resolve();

  /** Encodes a release. @throws the errors of `encodeRelease`. */
  encode(record: ReleaseRecord, options: EncodeOptions): Promise<KubeObject[]> {
    return this.#inTurn(async () => buildReleaseSecrets(record, await compressRecord(record), options));
  }

  /** Decodes a release, with the result of `decodeRelease`. */
  async decode(index: KubeObject, chunks: readonly KubeObject[]): Promise<DecodedRelease> {
    const found = joinChunks(index, chunks);
    if (found.kind !== "compressed") return found;
    try {
      return readRelease(found, await this.#inTurn(() => readRecord(found)));
    } catch (err) {
      return markUnreadable(found.index.key, getErrorMessage(err));
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

async function compressRecord(record: ReleaseRecord): Promise<Buffer> {
  const compressed: Buffer[] = [];
  const gzip = createGzip({ ...GZIP_OPTIONS, chunkSize: CHUNK_BYTES });
  await pipeline(joinPieces(record), gzip, async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) compressed.push(piece);
  });
  return Buffer.concat(compressed);
}

/** Yields a payload with small pieces joined, because each chunk for zlib costs a thread switch. */
async function* joinPieces(record: ReleaseRecord): AsyncGenerator<Buffer> {
  const turns = new Turns();
  let kept: Buffer[] = [];
  let bytes = 0;
  for (const piece of encodePayload(record)) {
    kept.push(piece);
    bytes += piece.byteLength;
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(kept);
      kept = [];
      bytes = 0;
    }
    await turns.pause();
  }
  yield Buffer.concat(kept);
}

async function readRecord(found: CompressedRelease): Promise<ReleaseRecord> {
  const reader = new PayloadReader(found);
  const turns = new Turns();
  for await (const piece of decompress(found)) {
    reader.add(piece);
    await turns.pause();
  }
  return reader.end();
}

/** @throws the error of `createDecompressionError`. */
async function* decompress(found: CompressedRelease): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  gunzip.end(found.data);
  let bytes = 0;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      bytes += piece.byteLength;
      if (bytes > PAYLOAD_LIMITS.bytes) break;
      yield piece;
    }
  } catch (err) {
    throw createDecompressionError(found, err);
  }
  if (bytes > PAYLOAD_LIMITS.bytes) throw createPayloadLimitError(found);
}
