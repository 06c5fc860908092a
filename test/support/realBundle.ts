import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type GroupVersionKind, getGroup, type JsonObject, type KubeObject } from "../../pkg/api/k8s.ts";
import { isApiService } from "../../pkg/bundle/apiServices.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { RegistryV1Bundle } from "../../pkg/bundle/types.ts";
import type { CertificateProvider } from "../../pkg/certificates/providers.ts";
import { readBundleFiles } from "../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { findKnownResource, readDefinedResource } from "../../pkg/rbac/resources.ts";
import { requireIdentities } from "../../pkg/release/identity.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { GROUPS_OF_OTHERS, isAboutOthers, type RealOperator } from "./realOperator.ts";

/** One bundle of a folder `<operator>/<version>`, with names that no other object in the test has. */
export interface RealBundle {
  /** `operator/version`. */
  id: string;
  operator: RealOperator;
  /** The rendered objects; empty if the bundle cannot be rendered to objects that can be applied. */
  objects: readonly KubeObject[];
  /** Whether it has webhooks for objects of other bundles, or APIs that all discovery requests call; no server responds to these in tests. */
  disturbsOthers: boolean;
}

/** Lists `operator/version` of every bundle in a folder, sorted. */
export function bundleIds(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .flatMap((operator) =>
      readdirSync(join(folder, operator))
        .sort()
        .map((version) => `${operator}/${version}`),
    );
}

/** Loads one bundle from a folder, by its `operator/version`, with the webhook certificates of this provider. */
export async function realBundle(root: string, id: string, certProvider: CertificateProvider): Promise<RealBundle> {
  const folder = join(root, id);
  const bundle = loadBundle(await readBundleFiles(folder));
  const name = id.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const namespace = `${name}-system`;
  const { objects, config } = render(bundle, namespace, certProvider);
  return {
    id,
    operator: { name, namespace, config, versions: [{ version: bundle.csv.spec.version, folder, objects }] },
    objects,
    disturbsOthers: objects.some((object) => isAboutOthers(object) || isApiService(object)),
  };
}

/** Renders the bundle for all namespaces if it supports that, otherwise for its own namespace, otherwise for another one. */
function render(
  bundle: RegistryV1Bundle,
  namespace: string,
  certProvider: CertificateProvider,
): { objects: KubeObject[]; config: JsonObject | undefined } {
  for (const config of [undefined, { watchNamespace: namespace }, { watchNamespace: "default" }]) {
    try {
      const objects = renderBundle(bundle, { installNamespace: namespace, config, certProvider });
      requireIdentities(objects);
      return { objects, config };
    } catch {
      // needs another configuration, or cannot be rendered at all, which the controller must report
    }
  }
  return { objects: [], config: undefined };
}

/** Creates a definition that accepts anything, for each kind in these objects that other operators define. */
export function standIns(objects: readonly KubeObject[]): KubeObject[] {
  const own = new Set(objects.flatMap((object) => readDefinedResource(object) ?? []).map(({ group, kind }) => `${group}/${kind}`));
  const kinds = new Map<string, GroupVersionKind>();
  for (const { apiVersion, kind } of objects) {
    const key = `${getGroup(apiVersion)}/${kind}`;
    if (GROUPS_OF_OTHERS.has(getGroup(apiVersion)) && !own.has(key)) kinds.set(key, { apiVersion, kind });
  }
  return [...kinds.values()].flatMap(standIn);
}

function standIn(gvk: GroupVersionKind): KubeObject[] {
  const found = findKnownResource(gvk);
  if (!found) return [];
  const { group, resource, namespaced } = found;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${resource}.${group}` },
      spec: {
        group,
        scope: namespaced ? "Namespaced" : "Cluster",
        names: { plural: resource, singular: gvk.kind.toLowerCase(), kind: gvk.kind, listKind: `${gvk.kind}List` },
        versions: [{ name: gvk.apiVersion.split("/")[1] ?? "v1", served: true, storage: true, schema }],
      },
    },
  ];
}
