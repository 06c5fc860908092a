import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYaml } from "../../../pkg/golang/yaml.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { waitForDefinition } from "../definitions.ts";

/** Makes the cluster serve ClusterObjectSets, and ClusterExtensionRevisions, as they were called before. */
export async function installObjectSets(admin: Client): Promise<void> {
  const text = await readFile(join(import.meta.dirname, "clusterobjectsets.yaml"), "utf8");
  const earlier = text
    .replaceAll("clusterobjectset", "clusterextensionrevision")
    .replaceAll("ClusterObjectSet", "ClusterExtensionRevision");
  for (const definition of [text, earlier]) {
    const crd = parseYaml(definition) as KubeObject;
    await admin.apply(crd, { fieldManager: "test", force: true });
    await waitForDefinition(admin, crd);
  }
}

/** A release of the Go operator-controller with feature gate BoxcutterRuntime. */
export interface ObjectSetInput {
  owner: string;
  /** The uid of the extension; undefined: the set has no owner reference. */
  ownerUid?: string | undefined;
  bundle: string;
  version?: string;
  packageName?: string;
  image?: string;
  revision?: number;
  state?: "Active" | "Archived";
  /** Annotation olm.properties; undefined if the bundle has none, or if the set was converted from a release Secret. */
  properties?: string | undefined;
  isMigrated?: boolean;
  kind?: "ClusterObjectSet" | "ClusterExtensionRevision";
  phases?: readonly JsonObject[];
}

/** Returns an object set as the Go implementation writes it: operator-controller 03bd94dd internal/operator-controller/applier/boxcutter.go. */
export function createObjectSet(input: ObjectSetInput): KubeObject {
  const { owner, ownerUid, bundle, version = "1.0.0", revision = 1, state = "Active", properties, isMigrated = false } = input;
  const { packageName = owner, image, kind = "ClusterObjectSet", phases } = input;
  const extension = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: owner };
  return {
    apiVersion: "olm.operatorframework.io/v1",
    kind,
    metadata: {
      name: `${owner}-${revision}`,
      labels: {
        "olm.operatorframework.io/owner-kind": "ClusterExtension",
        "olm.operatorframework.io/owner-name": owner,
        ...(isMigrated ? { "olm.operatorframework.io/migrated-from-helm": "true" } : {}),
      },
      annotations: {
        "olm.operatorframework.io/bundle-name": bundle,
        "olm.operatorframework.io/bundle-version": version,
        "olm.operatorframework.io/package-name": packageName,
        ...(image === undefined ? {} : { "olm.operatorframework.io/bundle-reference": image }),
        ...(properties === undefined ? {} : { "olm.properties": properties }),
      },
      ...(ownerUid === undefined ? {} : { ownerReferences: [{ ...extension, uid: ownerUid, controller: true, blockOwnerDeletion: true }] }),
    },
    spec: {
      lifecycleState: state,
      revision,
      collisionProtection: isMigrated ? "None" : "Prevent",
      ...(phases === undefined ? {} : { phases }),
    },
  };
}

/**
 * Packs objects into a Secret, as the Go implementation stores the objects of an object set. The first object is compressed, as large ones are.
 * @returns the Secret, and the phase that refers to it
 * @see operator-controller 15868008 internal/operator-controller/applier/secretpacker.go
 */
export function packObjects(set: string, owner: string, objects: readonly KubeObject[]): { secret: KubeObject; phase: JsonObject } {
  const entries = objects.map((object, i) => {
    const json = Buffer.from(JSON.stringify(object));
    const data = i === 0 ? gzipSync(json) : json;
    return { key: createHash("sha256").update(data).digest("base64url"), data: data.toString("base64") };
  });
  const name = `${set}-0123456789abcdef`;
  const secret: KubeObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: SYSTEM_NAMESPACE,
      labels: { "olm.operatorframework.io/revision-name": set, "olm.operatorframework.io/owner-name": owner },
    },
    immutable: true,
    type: "olm.operatorframework.io/object-data",
    data: Object.fromEntries(entries.map(({ key, data }) => [key, data])),
  };
  return { secret, phase: { name: "deploy", objects: entries.map(({ key }) => ({ ref: { name, namespace: SYSTEM_NAMESPACE, key } })) } };
}
