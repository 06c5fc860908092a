import { findCondition } from "../../pkg/api/conditions.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { eventually } from "./eventually.ts";

/** Waits until objects of a CustomResourceDefinition can be asked for: once it is established they are still answered with 404 for a moment. */
export async function definitionServed(client: Client, { apiVersion, kind, metadata, ...crd }: KubeObject): Promise<void> {
  await eventually(async () => {
    const live = await client.get({ apiVersion, kind, name: metadata.name });
    const { conditions } = (live?.["status"] ?? {}) as { conditions?: Condition[] };
    if (findCondition(conditions, "Established")?.status !== "True") throw new Error(`${metadata.name} is not established yet`);
  });
  const { group, names, versions } = crd["spec"] as { group: string; names: { kind: string }; versions: { name: string }[] };
  for (const version of versions) await eventually(() => client.list({ apiVersion: `${group}/${version.name}`, kind: names.kind }));
}
