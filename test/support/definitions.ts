import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findCondition } from "../../pkg/api/conditions.ts";
import { type Condition, type JsonObject, type KubeObject } from "../../pkg/api/k8s.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { type Client } from "../../pkg/kube/client.ts";
import { eventually } from "./eventually.ts";

/** Creates the CustomResourceDefinition of namespaced Things in a group, with this schema for its one version; by default it accepts any members. */
export function thingDefinition(group: string, schema: JsonObject = { "x-kubernetes-preserve-unknown-fields": true }): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...schema } } }],
    },
  };
}

const CRD_FOLDER = join(import.meta.dirname, "../../config/crd");

/** Applies the definitions in config/crd and waits until they are served; several test files can do so at once. */
export async function installDefinitions(client: Client): Promise<void> {
  for (const file of (await readdir(CRD_FOLDER)).filter((name) => name.endsWith(".yaml"))) {
    const crd = parseYaml(await readFile(join(CRD_FOLDER, file), "utf8")) as KubeObject;
    if (crd.kind !== "CustomResourceDefinition") continue;
    await client.apply(crd, { fieldManager: "test", force: true });
    await waitForDefinition(client, crd);
  }
}

/** Waits until objects of a CustomResourceDefinition can be requested: the API server returns 404 for a moment after it is established. */
export async function waitForDefinition(client: Client, { apiVersion, kind, metadata, ...crd }: KubeObject): Promise<void> {
  await eventually(async () => {
    const live = await client.get({ apiVersion, kind, name: metadata.name });
    const { conditions } = (live?.["status"] ?? {}) as { conditions?: Condition[] };
    if (findCondition(conditions, "Established")?.status !== "True") throw new Error(`${metadata.name} is not established yet`);
  });
  const { group, names, versions } = crd["spec"] as { group: string; names: { kind: string }; versions: { name: string }[] };
  for (const version of versions) await eventually(() => client.list({ apiVersion: `${group}/${version.name}`, kind: names.kind }));
}
