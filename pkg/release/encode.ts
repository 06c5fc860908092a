import { constants, gzipSync } from "node:zlib";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { countSeparators } from "../bundle/limits.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { chunkHash } from "./chunkName.ts";
import { payloadPieces } from "./payload.ts";
import { PAYLOAD_LIMITS } from "./payloadLimits.ts";
import type { ReleaseRecord } from "./record.ts";

/** Value of the label `owner` on every Secret of a release. */
export const RELEASE_OWNER = "operator-controller";
/** Type of the Secret that holds a release's first chunk and names the others. */
const INDEX_SECRET_TYPE = "operatorframework.io/index.v1";
/** Type of the Secrets that hold the chunks after the first. */
const CHUNK_SECRET_TYPE = "operatorframework.io/chunk.v1";
/** A Secret holds at most 1 MiB; 8 KiB are left for everything but the data. */
export const CHUNK_BYTES = (1024 - 8) * 1024;
/** More than about 11 MB compressed are refused. */
export const MAX_CHUNKS = 11;
/** As Go compresses. */
export const GZIP_OPTIONS = { level: constants.Z_BEST_COMPRESSION } as const;
/** What a label's value may have. */
const MAX_LABEL = 63;

/** Where and for whom the Secrets are written. */
export interface EncodeOptions {
  systemNamespace: string;
  /** The extension: deleting it deletes its releases. */
  owner: { name: string; uid: string };
}

/** The name of a release's index Secret; names of chunk Secrets begin with it. */
export function releaseKey(name: string, version: number): string {
  return `sh.helm.release.v1.${name}.v${version}`;
}

/**
 * The value of the label `key` on all Secrets of a release: the key, or where no label holds as much the beginning of it and its hash.
 * The Go operator-controller puts the key there whatever its length, so that it cannot install extensions with such names.
 */
export function keyLabel(key: string): string {
  if (key.length <= MAX_LABEL) return key;
  const hash = chunkHash(Buffer.from(key));
  return `${key.slice(0, MAX_LABEL - hash.length - 1)}-${hash}`;
}

/**
 * The Secrets that hold `record`, the index first; the same record gives the same bytes.
 * `createdAt` is the record's last deployment. Chunk Secrets need an ownerReference to the index Secret once that has a uid.
 * @throws TerminalError Blocked when the record needs more than eleven chunks, or more than `PAYLOAD_LIMITS` allow.
 * @see helm-operator-plugins v0.9 pkg/storage/chunked.go
 */
export function encodeRelease(record: ReleaseRecord, options: EncodeOptions): KubeObject[] {
  return releaseSecrets(record, gzipSync(Buffer.concat([...payloadBytes(record)]), GZIP_OPTIONS), options);
}

/**
 * Yields the bytes of a payload as `payloadPieces` does.
 * @throws TerminalError Blocked when the pieces so far hold more than `PAYLOAD_LIMITS` allow.
 */
export function* payloadBytes(record: ReleaseRecord): Generator<Buffer> {
  let bytes = 0;
  let separators = 0;
  for (const text of payloadPieces(record)) {
    const piece = Buffer.from(text, "utf8");
    bytes += piece.byteLength;
    separators += countSeparators(piece);
    checkSize(record, bytes, PAYLOAD_LIMITS.bytes, "bytes");
    checkSize(record, separators, PAYLOAD_LIMITS.separators, "lines, list items and members");
    yield piece;
  }
}

/** The Secrets of a release whose payload was compressed with `GZIP_OPTIONS`. @throws TerminalError as `encodeRelease`. */
export function releaseSecrets(record: ReleaseRecord, compressed: Buffer, { systemNamespace, owner }: EncodeOptions): KubeObject[] {
  const key = releaseKey(record.name, record.version);
  compressed[9] = 0xff; // "unknown" instead of the operating system of this build, as Go writes it
  const [first = Buffer.alloc(0), ...rest] = chunksOf(compressed);
  if (rest.length + 1 > MAX_CHUNKS) {
    const text = `release too large: ${goQuote(record.name)} requires ${rest.length + 1} chunks, which exceeds the maximum of ${MAX_CHUNKS}`;
    throw new TerminalError("Blocked", text);
  }
  const chunks = rest.map((data) => chunkSecret(key, data, systemNamespace));
  const index: KubeObject = {
    apiVersion: "v1",
    kind: "Secret",
    type: INDEX_SECRET_TYPE,
    immutable: false,
    metadata: {
      name: key,
      namespace: systemNamespace,
      labels: {
        createdAt: String(unixSeconds(record.lastDeployed)),
        key: keyLabel(key),
        name: record.name,
        owner: RELEASE_OWNER,
        status: record.status,
        type: "index",
        version: String(record.version),
      },
      ownerReferences: [
        {
          apiVersion: API_VERSION,
          kind: CLUSTER_EXTENSION,
          name: owner.name,
          uid: owner.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    data: { chunk: first.toString("base64"), extraChunks: base64Json(chunks.map((chunk) => chunk.metadata.name)) },
  };
  return [index, ...chunks];
}

function checkSize({ name }: ReleaseRecord, found: number, most: number, what: string): void {
  if (found > most)
    throw new TerminalError("Blocked", `release too large: ${goQuote(name)} has more than the ${most} ${what} that can be read again`);
}

function chunkSecret(key: string, data: Buffer, namespace: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: CHUNK_SECRET_TYPE,
    immutable: true,
    metadata: { name: `${key}-${chunkHash(data)}`, namespace, labels: { key: keyLabel(key), owner: RELEASE_OWNER, type: "chunk" } },
    data: { chunk: data.toString("base64") },
  };
}

function chunksOf(data: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < data.byteLength; start += CHUNK_BYTES) chunks.push(data.subarray(start, start + CHUNK_BYTES));
  return chunks;
}

function base64Json(value: unknown): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64");
}

function unixSeconds(time: string): number {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1_000);
}
