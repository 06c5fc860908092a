import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../pkg/release/record.ts";
import { type DecodedRelease, decodeRelease, parseExtraChunks } from "../../pkg/release/storage/decode.ts";

/** Differences from a small release of extension "x" in namespace "x-system"; objects given by name are ConfigMaps. */
export interface ReleaseParts extends Partial<Omit<ReleaseRecord, "objects">> {
  objects?: readonly (string | KubeObject)[];
}

/** Creates one release of an extension. */
export function releaseRecord(version: number, status: ReleaseStatus, { objects = [], ...parts }: ReleaseParts = {}): ReleaseRecord {
  return {
    name: "x",
    namespace: "x-system",
    version,
    status,
    description: status,
    firstDeployed: "2026-01-01T00:00:00Z",
    lastDeployed: "2026-01-02T00:00:00Z",
    labels: {},
    annotations: {},
    objects: objects.map((object) => (typeof object === "string" ? configMap(object, parts.namespace) : object)),
    ...parts,
  };
}

/** Creates an empty ConfigMap. */
export function configMap(name: string, namespace = "x-system", data: Record<string, string> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

/** Reads the record from the Secrets of a release. @throws Error with the cause if they cannot be read. */
export function decodedRecord(index: KubeObject, chunks: readonly KubeObject[]): ReleaseRecord {
  const release = decodeRelease(index, chunks);
  if (release.kind !== "readable") throw new Error(release.kind === "unreadable" ? release.reason : "unfinished");
  return release.record;
}

/** Reads the Secrets of a record; returns nothing for no record. */
export function asRead(record: ReleaseRecord | undefined): DecodedRelease | undefined {
  return record && { kind: "readable", record };
}

/** Returns the names of all chunks but the first, sorted. @throws Error if the index does not list them. */
export function chunkNames(index: KubeObject): string[] {
  const names = parseExtraChunks(index);
  if (!Array.isArray(names)) throw new Error(names.reason);
  return names.toSorted();
}
