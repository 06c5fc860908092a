import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
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
interface ObjectSetInput {
  owner: string;
  bundle: string;
  version?: string;
  revision?: number;
  state?: "Active" | "Archived";
  /** Annotation olm.properties; undefined if the bundle has none, or if the set was converted from a release Secret. */
  properties?: string | undefined;
  isMigrated?: boolean;
}

/** Returns an object set as the Go implementation writes it: operator-controller 03bd94dd internal/operator-controller/applier/boxcutter.go. */
export function createObjectSet(input: ObjectSetInput): KubeObject {
  const { owner, bundle, version = "1.0.0", revision = 1, state = "Active", properties, isMigrated = false } = input;
  return {
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterObjectSet",
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
        "olm.operatorframework.io/package-name": owner,
        ...(properties === undefined ? {} : { "olm.properties": properties }),
      },
    },
    spec: { lifecycleState: state, revision, collisionProtection: isMigrated ? "None" : "Prevent" },
  };
}
