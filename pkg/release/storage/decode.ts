import { gunzipSync } from "node:zlib";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { getGroup, type JsonObject, type KubeObject, type ObjectMeta } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { isPending, parseReleaseStatus, type ReleaseRecord, type ReleaseSummary } from "../record.ts";
import { getReleaseKey, MAX_CHUNKS, PAYLOAD_LIMITS } from "./encode.ts";
import { formatDecodeFailure, PayloadReader } from "./payloadReader.ts";

/** Annotation of an index Secret until its writer has stored the other chunks. The release is only applied after the annotation was removed. */
export const ANNOTATION_INCOMPLETE = "olm.operatorframework.io/incomplete";

/**
 * Annotation of an index Secret with a format that older versions of the program cannot read. The current format, also that of the Go
 * operator-controller, has no annotation.
 */
const ANNOTATION_FORMAT = "olm.operatorframework.io/release-format";

/** One release, from the metadata of its index Secret. */
export interface ReleaseIndex extends ReleaseSummary {
  readonly kind: "index";
  /** The Secret's name. */
  readonly key: string;
  /** The extension in the Secret's owner reference. */
  readonly uid: string | undefined;
}

/** A Secret with the labels of a release that cannot be decoded. The release may still own objects on the cluster. */
export interface UnreadableRelease {
  readonly kind: "unreadable";
  /** The Secret's name. */
  readonly secret: string;
  /** Why the release cannot be decoded, at most 1,024 characters. Does not contain values of the release. */
  readonly reason: string;
}

/** The content of an index Secret and its chunks: a release, an incomplete release of which no object was applied, or an unreadable release. */
export type DecodedRelease =
  | { readonly kind: "readable"; readonly record: ReleaseRecord }
  | { readonly kind: "unfinished" }
  | UnreadableRelease;

const MAX_CAUSE = 1_024;
/** Maximum length of a quoted label; a label value has at most 63 characters. */
const MAX_LABEL = 63;
const POSITIVE_INTEGER = /^[1-9][0-9]{0,14}$/;

/** Labels and annotations of the Secret itself, not of the bundle. */
const SYSTEM_MARKS: ReadonlySet<string> = new Set([
  "name",
  "owner",
  "status",
  "version",
  "key",
  "type",
  "createdAt",
  "modifiedAt",
  ANNOTATION_INCOMPLETE,
  ANNOTATION_FORMAT,
]);

/**
 * Parses the metadata of an index Secret. An unrecognized status becomes unknown.
 * @returns unreadable if the labels do not identify one release, or do not match the Secret's name; also if a newer version of the program wrote the
 * Secret in another format
 */
export function parseReleaseIndex({
  name: secret,
  labels = {},
  annotations = {},
  ownerReferences = [],
}: ObjectMeta): ReleaseIndex | UnreadableRelease {
  const format = annotations[ANNOTATION_FORMAT];
  if (format !== undefined)
    return markUnreadable(
      secret,
      `its format ${goQuote(format.slice(0, MAX_LABEL))} is newer than this version of operator-controller. Run the version that wrote it, or a newer one`,
    );
  const { name = "", version = "", status } = labels;
  if (!POSITIVE_INTEGER.test(version))
    return markUnreadable(secret, `its label version ${goQuote(version.slice(0, MAX_LABEL))} is not a positive integer`);
  const number = Number(version);
  if (getReleaseKey(name, number) !== secret) return markUnreadable(secret, "its name does not match the release in its labels");
  const owner = ownerReferences.find(
    ({ apiVersion, kind }) => kind === CLUSTER_EXTENSION && getGroup(apiVersion) === getGroup(API_VERSION),
  );
  return { kind: "index", key: secret, version: number, status: parseReleaseStatus(status), uid: owner?.uid };
}

/** The compressed content of an index Secret and its chunks. */
export interface CompressedRelease {
  readonly kind: "compressed";
  readonly index: ReleaseIndex;
  readonly data: Buffer;
  /** The bundle's labels if the payload has none. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Decodes the release in `index` and its chunks, of this or the Go operator-controller. Unreadable if Go's encoding/json would reject it, or if its
 * name, version or status differ from the labels of its Secret.
 * @param chunks in any order; those of other releases are ignored
 */
export function decodeRelease(index: KubeObject, chunks: readonly KubeObject[]): DecodedRelease {
  const found = joinChunks(index, chunks);
  if (found.kind !== "compressed") return found;
  try {
    const reader = new PayloadReader(found);
    reader.add(decompress(found));
    return readRelease(found, reader.end());
  } catch (err) {
    return markUnreadable(found.index.key, getErrorMessage(err));
  }
}

/** Returns the release, or unreadable if it differs from the labels of its Secret. */
export function readRelease({ index }: CompressedRelease, record: ReleaseRecord): DecodedRelease {
  const contradiction = findContradiction(record, index);
  return contradiction === undefined ? { kind: "readable", record } : markUnreadable(index.key, contradiction);
}

/** Joins the data of `index` and its chunks. @param chunks as for `decodeRelease` */
export function joinChunks(
  index: KubeObject,
  chunks: readonly KubeObject[],
): CompressedRelease | { readonly kind: "unfinished" } | UnreadableRelease {
  const { name: secret, annotations } = index.metadata;
  const labelled = parseReleaseIndex(index.metadata);
  if (labelled.kind === "unreadable") return labelled;
  const names = parseExtraChunks(index);
  if (!Array.isArray(names)) return names;
  if (names.length + 1 > MAX_CHUNKS) {
    const text = `release too large: ${goQuote(secret)} consists of ${names.length + 1} chunks, which exceeds the maximum of ${MAX_CHUNKS}`;
    return markUnreadable(secret, text);
  }
  const isBegun = isPending(labelled) && annotations?.[ANNOTATION_INCOMPLETE] !== undefined;
  try {
    const parts = [readData(index, "chunk") ?? missing(`index secret ${goQuote(secret)} missing chunk 1 data`)];
    for (const [i, name] of names.entries()) {
      const chunk = chunks.find(({ metadata }) => metadata.name === name);
      if (!chunk && isBegun) return { kind: "unfinished" };
      if (!chunk) return markUnreadable(secret, `failed to get chunk ${i + 2} secret ${goQuote(name)}: it does not exist`);
      parts.push(readData(chunk, "chunk") ?? missing(`chunk ${i + 2} secret ${goQuote(name)} missing chunk data`));
    }
    return { kind: "compressed", index: labelled, data: Buffer.concat(parts), labels: bundleLabels(index) };
  } catch (err) {
    return markUnreadable(secret, getErrorMessage(err));
  }
}

/** Returns the names of the chunk Secrets that an index Secret lists, in order; empty if the release fits into the index. */
export function parseExtraChunks(index: KubeObject): string[] | UnreadableRelease {
  const { name } = index.metadata;
  const data = readData(index, "extraChunks");
  if (!data) return markUnreadable(name, `index secret ${goQuote(name)} missing chunks data`);
  let names: unknown;
  try {
    names = JSON.parse(data.toString("utf8"));
  } catch {
    return markUnreadable(name, `failed to parse chunk names from index ${goQuote(name)}: not JSON`);
  }
  if (names === null) return [];
  if (Array.isArray(names) && names.every((one) => typeof one === "string")) return names;
  return markUnreadable(name, `failed to parse chunk names from index ${goQuote(name)}: not a list of names`);
}

/** Returns the result for an unreadable Secret. */
export function markUnreadable(secret: string, reason: string): UnreadableRelease {
  return { kind: "unreadable", secret, reason: reason.slice(0, MAX_CAUSE).toWellFormed() };
}

/** Formats the message about an unreadable release. */
export function formatUnreadable({ secret, reason: because }: UnreadableRelease): string {
  return `release secret ${goQuote(secret)} cannot be read: ${because}`;
}

/**
 * Returns how the payload differs from the labels of the Secret. Such a release must not be used, because readers that only see the labels would use
 * another release.
 */
function findContradiction(record: ReleaseRecord, { key, version, status }: ReleaseIndex): string | undefined {
  if (getReleaseKey(record.name, record.version) !== key) return "its payload contains a different release than its labels";
  if (record.version !== version) return `its payload has version ${record.version}, but its label has ${version}`;
  return record.status === status ? undefined : `its payload has status ${record.status}, but its label has ${status}`;
}

/** @throws Error as `createDecompressionError` */
function decompress(found: CompressedRelease): Buffer {
  try {
    return gunzipSync(found.data, { maxOutputLength: PAYLOAD_LIMITS.bytes });
  } catch (err) {
    throw err instanceof RangeError ? createPayloadLimitError(found) : createDecompressionError(found, err);
  }
}

/** Returns the error for data that cannot be decompressed. */
export function createDecompressionError({ index: { key } }: CompressedRelease, err: unknown): Error {
  return new Error(`${formatDecodeFailure(key)}: ${getErrorMessage(err)}`, { cause: err });
}

/** Returns the error for data with more bytes than `PAYLOAD_LIMITS` allow. */
export function createPayloadLimitError({ index: { key } }: CompressedRelease): Error {
  return new Error(`${formatDecodeFailure(key)}: it contains more than the ${PAYLOAD_LIMITS.bytes} bytes allowed`);
}

function readData(secret: KubeObject, key: string): Buffer | undefined {
  const data = secret["data"];
  const value = typeof data === "object" && data !== null ? (data as JsonObject)[key] : undefined;
  return typeof value === "string" ? Buffer.from(value, "base64") : undefined;
}

function bundleLabels(index: KubeObject): Record<string, string> {
  const { labels, annotations } = index.metadata;
  return Object.fromEntries(
    [...Object.entries(labels ?? {}), ...Object.entries(annotations ?? {})].filter(([key]) => !SYSTEM_MARKS.has(key)),
  );
}

function missing(what: string): never {
  throw new Error(what);
}
