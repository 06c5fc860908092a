import { expect } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { type Client } from "../../pkg/kube/client.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { ownObjects } from "./audit.ts";
import { thingDefinition } from "./definitions.ts";
import { tinyBundle } from "./tinyBundle.ts";

/** Versions of the bundle for fault tests. */
export type FaultVersion = "1.0.0" | "2.0.0";

/** The ConfigMaps of each version: an upgrade changes one, deletes one and creates one. */
const CONFIG_MAPS: Readonly<Record<FaultVersion, readonly string[]>> = { "1.0.0": ["settings", "old"], "2.0.0": ["settings", "new"] };

/**
 * Creates the files of a bundle of five objects: a CustomResourceDefinition, a Service, a Deployment, ConfigMap `settings` with the version, and
 * ConfigMap `old` in 1.0.0, ConfigMap `new` in 2.0.0.
 */
export function faultBundle(version: FaultVersion): Record<string, string> {
  const configMaps = CONFIG_MAPS[version].map(
    (name): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { version } }),
  );
  const spec = { selector: { app: "tiny" }, ports: [{ port: 80 }] };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "tiny" }, spec };
  return tinyBundle(version, { objects: [thingDefinition("faults.example.com"), ...configMaps, service] });
}

/** Renders that bundle for a namespace. */
export function faultObjects(version: FaultVersion, namespace: string): KubeObject[] {
  const files = new Map(Object.entries(faultBundle(version)).map(([path, text]) => [path, Buffer.from(text)]));
  return renderBundle(loadBundle(files), { installNamespace: namespace });
}

/** Creates an extension of the bundle for fault tests. */
export type FaultExtension = Pick<ClusterExtension, "metadata" | "spec">;

/** Asserts that an extension is completely at a version, with exactly these releases, such as "v1 deployed". */
export async function expectInstalled(
  client: Client,
  extension: FaultExtension,
  version: FaultVersion,
  releases: readonly string[],
): Promise<void> {
  const { name } = extension.metadata;
  const namespace = getNamespace(extension);
  const live = await client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const getReason = (type: string): string | undefined => findCondition(live?.status?.conditions, type)?.reason;
  const reported = [live?.status?.install?.bundle.version, ...["Installed", "Progressing", "Available"].map(getReason)];
  expect(reported, JSON.stringify(live?.status?.conditions)).toEqual([version, "Succeeded", "Succeeded", "Healthy"]);
  const desired = faultObjects(version, namespace);
  expect(await ownObjects(client, name)).toEqual(desired.map(describeObject).sort());
  for (const object of desired)
    if (object.kind === "ConfigMap") expect((await client.get(toObjectRef(object)))?.["data"]).toEqual({ version });
  expect(await imageIn(client, namespace)).toBe(`registry.example.com/tiny:${version}`);
  expect((await releaseSecrets(client, name)).map(({ metadata: { labels } }) => `v${labels?.["version"]} ${labels?.["status"]}`)).toEqual(
    releases,
  );
}

/** Asserts that no object of an extension is left. */
export async function expectGone(client: Client, { metadata: { name } }: FaultExtension): Promise<void> {
  expect(await client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })).toBeUndefined();
  expect(await ownObjects(client, name)).toEqual([]);
  expect((await releaseSecrets(client, name)).map(describeObject)).toEqual([]);
}

async function imageIn(client: Client, namespace: string): Promise<string | undefined> {
  const live = await client.get({ apiVersion: "apps/v1", kind: "Deployment", name: "tiny", namespace });
  const spec = live?.["spec"] as { template: { spec: { containers: { image: string }[] } } } | undefined;
  return spec?.template.spec.containers[0]?.image;
}

/** Returns every Secret of the extension's releases, chunks included, by name. */
async function releaseSecrets(client: Client, name: string): Promise<KubeObject[]> {
  const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: "owner=operator-controller" };
  const { items } = await client.list({ apiVersion: "v1", kind: "Secret" }, selection);
  return items.filter(({ metadata }) => metadata.name.startsWith(`sh.helm.release.v1.${name}.v`));
}
