import { createHash } from "node:crypto";
import { constants, gzipSync } from "node:zlib";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { countSeparators } from "../../bundle/limits.ts";
import { TerminalError } from "../../errors/errors.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareUtf8 } from "../../text/compare.ts";
import { withoutBundleLabels, withoutOwner } from "../labels.ts";
import type { ReleaseRecord } from "../record.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz123456";

/** The low 32 bits of FNV-1a's 64-bit prime, which is 2^40 + 435. */
const PRIME_LOW = 435;
const TWO_32 = 2 ** 32;

/**
 * Hashes a chunk for its name: 13 characters, base32 of the 64-bit FNV-1a hash. Uses two 32-bit halves, because a bigint would take a hundred
 * times as long for a chunk of one megabyte.
 */
export function hashChunk(data: Uint8Array): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of data) {
    low = (low ^ byte) >>> 0;
    const product = low * PRIME_LOW;
    high = (high * PRIME_LOW + Math.floor(product / TWO_32) + ((low << 8) >>> 0)) % TWO_32;
    low = product % TWO_32;
  }
  return base32((BigInt(high) << 32n) | BigInt(low));
}

/** Encodes a 64-bit number in base32, most significant bits first, padded with a zero bit. */
function base32(hash: bigint): string {
  let bits = hash << 1n;
  let text = "";
  for (let i = 0; i < 13; i++) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}

/**
 * Limits of a release's payload before compression. The largest bundle within `BUNDLE_LIMITS` renders to 32 MiB, which a release contains twice,
 * once in base64: 75 MiB. The rest is for characters that Go escapes. Larger payloads are never written, because they could not be read.
 */
export const PAYLOAD_LIMITS = {
  bytes: 96 * 1024 * 1024,
  /** Maximum number of characters that separate values. It bounds the number of values before parsing. */
  separators: 2_000_000,
  /** Maximum number of members and list items outside the objects. A bundle has at most 20,000 annotation names. */
  values: 100_000,
} as const;

/** Length of a piece of a long text, in characters or bytes. A multiple of 3, so that base64 pieces can be concatenated. */
const PIECE = 3 * 65_536;

/**
 * Yields a release as Helm's JSON with a trailing newline, members in Go's order. The manifest contains one object per line; the chart contains each
 * rendered object with a template that prints it. `properties`, `requirements`, `inputDigest`, `imageDigest`, `proxy`, `cautions`, `flaws`,
 * `rolledOutAt`, `rolledBack`, `pinnedTo`, `takenOver`, `objectSet`, `sourced` and `left` are our own members, which Go ignores. Encoding a piece takes
 * at most as long as encoding one object. Pieces may be empty. Objects are serialized twice to save memory.
 * @see helm.sh/helm/v3 v3.21.3 pkg/release/release.go
 */
function* writePayload(record: ReleaseRecord): Generator<string> {
  const files = new Map<string, KubeObject>();
  for (const object of record.objects) {
    files.set(fileName(rendered(object)), object);
    yield "";
  }
  const templates = [...files.keys()].map((name) => ({ name, data: base64(`{{.Files.Get "${name}"}}`) }));
  const hasAnnotations = Object.keys(record.annotations).length > 0;
  const head = {
    name: record.name,
    info: {
      first_deployed: record.firstDeployed,
      last_deployed: record.lastDeployed,
      deleted: "",
      ...(record.description === "" ? {} : { description: record.description }),
      status: record.status,
    },
  };
  const metadata = hasAnnotations ? { annotations: sorted(record.annotations) } : {};
  const chart = { metadata, lock: null, templates, values: null, schema: null };
  yield `${open(head)},"chart":${open(chart)},"files":[`;
  let comma = "";
  for (const [name, object] of files) {
    yield `${comma}${open({ name })},"data":"`;
    yield* base64Pieces(rendered(object));
    yield '"}';
    comma = ",";
  }
  yield ']},"manifest":"';
  for (const object of record.objects) yield* escapePieces(`${encodeGoJson(object)}\n`);
  const tail = {
    version: record.version,
    namespace: record.namespace,
    labels: sorted(record.labels),
    ...(record.properties === undefined ? {} : { properties: record.properties }),
    ...(record.requirements === undefined ? {} : { requirements: record.requirements }),
    ...(record.inputDigest === undefined ? {} : { inputDigest: record.inputDigest }),
    ...(record.imageDigest === undefined ? {} : { imageDigest: record.imageDigest }),
    ...(record.proxy === undefined ? {} : { proxy: record.proxy }),
    ...(record.cautions === undefined ? {} : { cautions: record.cautions }),
    ...(record.flaws === undefined ? {} : { flaws: record.flaws }),
    ...(record.rolledOutAt === undefined ? {} : { rolledOutAt: record.rolledOutAt }),
    ...(record.rolledBack === undefined ? {} : { rolledBack: record.rolledBack }),
    ...(record.pinnedTo === undefined ? {} : { pinnedTo: record.pinnedTo }),
    ...(record.takenOver === undefined ? {} : { takenOver: record.takenOver }),
    ...(record.objectSet === undefined ? {} : { objectSet: record.objectSet }),
    ...(record.sourced === undefined ? {} : { sourced: record.sourced }),
    ...(record.left === undefined ? {} : { left: record.left }),
    ...(record.generation === undefined ? {} : { generation: record.generation }),
    ...(record.changedBy === undefined ? {} : { changedBy: record.changedBy }),
  };
  yield `",${structJson(tail).slice(1)}\n`;
}

/** Formats an object as in the rendered manifest. */
function rendered(object: KubeObject): string {
  return encodeGoJson(withoutOwner(withoutBundleLabels(object)));
}

/** Formats members in the given order, like a Go struct. */
function structJson(value: JsonObject): string {
  return encodeGoJson(value, { sortKeys: false });
}

/** Formats a non-empty object without its closing brace. */
function open(value: JsonObject): string {
  return structJson(value).slice(0, -1);
}

/** Returns the name of a file: the SHA-256 of its content, truncated to eight bytes. */
function fileName(json: string): string {
  return `object-${createHash("sha256").update(json).digest("hex").slice(0, 16)}.json`;
}

function base64(content: string): string {
  return Buffer.from(content, "utf8").toString("base64");
}

/** Yields base64 of the UTF-8 of a text. */
function* base64Pieces(content: string): Generator<string> {
  const bytes = Buffer.from(content, "utf8");
  for (let from = 0; from < bytes.byteLength; from += PIECE) yield bytes.toString("base64", from, from + PIECE);
}

/** Yields a well-formed text, escaped for a JSON string, without the quotes. */
function* escapePieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const piece = text.slice(from, from + PIECE);
    // a lone surrogate cannot be encoded
    const whole = piece.isWellFormed() ? piece : text.slice(from, from + PIECE + 1);
    yield encodeGoJson(whole).slice(1, -1);
    from += whole.length;
  }
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => compareUtf8(a, b)));
}

/** Value of the label `owner` on every Secret of a release. */
export const RELEASE_OWNER = "operator-controller";
/** Type of the Secret with a release's first chunk and the names of the others. */
const INDEX_SECRET_TYPE = "operatorframework.io/index.v1";
/** Type of the Secrets with the other chunks. */
const CHUNK_SECRET_TYPE = "operatorframework.io/chunk.v1";
/** A Secret has at most 1 MiB, of which 8 KiB are reserved for everything but the data. */
export const CHUNK_BYTES = (1024 - 8) * 1024;
/** Limits the compressed payload to about 11 MB. */
export const MAX_CHUNKS = 11;
/** The compression of Go. */
export const GZIP_OPTIONS = { level: constants.Z_BEST_COMPRESSION } as const;
/** Maximum length of a label value. */
const MAX_LABEL = 63;

/** The namespace and owner of the Secrets. */
export interface EncodeOptions {
  systemNamespace: string;
  /** The extension; deleting it deletes its releases. */
  owner: { name: string; uid: string };
}

/** Returns the name of a release's index Secret, the prefix of its chunk Secrets. */
export function getReleaseKey(name: string, version: number): string {
  return `sh.helm.release.v1.${name}.v${version}`;
}

/**
 * Returns the value of the label `key` on all Secrets of a release: the key, or its beginning and a hash if it is too long for a label. The Go
 * operator-controller does not shorten it, so it cannot install extensions with such names.
 */
export function getKeyLabel(key: string): string {
  if (key.length <= MAX_LABEL) return key;
  const hash = hashChunk(Buffer.from(key));
  return `${key.slice(0, MAX_LABEL - hash.length - 1)}-${hash}`;
}

/**
 * Encodes `record` as Secrets, the index first; deterministic. `createdAt` is the record's last deployment. The caller adds an ownerReference to the
 * index Secret to the chunk Secrets, once the index Secret has a uid.
 * @throws TerminalError Blocked if the record needs more than eleven chunks, or exceeds `PAYLOAD_LIMITS`
 * @see helm-operator-plugins v0.9.1 pkg/storage/chunked.go
 */
export function encodeRelease(record: ReleaseRecord, options: EncodeOptions): KubeObject[] {
  return buildReleaseSecrets(record, gzipSync(Buffer.concat([...encodePayload(record)]), GZIP_OPTIONS), options);
}

/**
 * Yields the bytes of a payload in the pieces of `writePayload`.
 * @throws TerminalError Blocked if the pieces so far exceed `PAYLOAD_LIMITS`
 */
export function* encodePayload(record: ReleaseRecord): Generator<Buffer> {
  let bytes = 0;
  let separators = 0;
  for (const text of writePayload(record)) {
    const piece = Buffer.from(text, "utf8");
    bytes += piece.byteLength;
    separators += countSeparators(piece);
    checkSize(record, bytes, PAYLOAD_LIMITS.bytes, "bytes");
    checkSize(record, separators, PAYLOAD_LIMITS.separators, "lines, list items and members");
    yield piece;
  }
}

/** Returns the Secrets of a release from a payload that was compressed with `GZIP_OPTIONS`. @throws TerminalError as `encodeRelease` */
export function buildReleaseSecrets(record: ReleaseRecord, compressed: Buffer, { systemNamespace, owner }: EncodeOptions): KubeObject[] {
  const key = getReleaseKey(record.name, record.version);
  compressed[9] = 0xff; // "unknown" instead of the operating system of this build, as Go writes it
  const [first = Buffer.alloc(0), ...rest] = splitChunks(compressed);
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
        createdAt: String(toUnixSeconds(record.lastDeployed)),
        key: getKeyLabel(key),
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
  if (found > most) throw new TerminalError("Blocked", `release too large: ${goQuote(name)} has more than the ${most} ${what} allowed`);
}

function chunkSecret(key: string, data: Buffer, namespace: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: CHUNK_SECRET_TYPE,
    immutable: true,
    metadata: { name: `${key}-${hashChunk(data)}`, namespace, labels: { key: getKeyLabel(key), owner: RELEASE_OWNER, type: "chunk" } },
    data: { chunk: data.toString("base64") },
  };
}

function splitChunks(data: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < data.byteLength; start += CHUNK_BYTES) chunks.push(data.subarray(start, start + CHUNK_BYTES));
  return chunks;
}

function base64Json(value: unknown): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64");
}

function toUnixSeconds(time: string): number {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1_000);
}
