import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../pkg/release/record.ts";

/** What differs from a small release of extension "x" in namespace "x-system"; objects given by name are ConfigMaps. */
export interface ReleaseParts extends Partial<Omit<ReleaseRecord, "objects">> {
  objects?: readonly (string | KubeObject)[];
}

/** One release of an extension. */
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

/** A ConfigMap that says nothing. */
export function configMap(name: string, namespace = "x-system", data: Record<string, string> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}
