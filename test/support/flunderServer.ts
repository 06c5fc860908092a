import type { JsonObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServingPod } from "./servingPod.ts";
import { tinyBundle } from "./tinyBundle.ts";

/** The resource that the API server of `flunderBundle` serves. */
export const FLUNDERS = { group: "wardle.example.com", version: "v1alpha1", kind: "Flunder", name: "flunders" } as const;

/** `tinyBundle` with a Deployment that serves Flunders; the given members replace those of its API service. */
export function flunderBundle(version: string, parts: JsonObject = {}): Record<string, string> {
  const owned = [{ ...FLUNDERS, displayName: "Flunder", description: "A flunder", deploymentName: "tiny", ...parts }];
  return tinyBundle(version, { spec: { apiservicedefinitions: { owned } } });
}

/** Serves Flunders for the Service of `flunderBundle`: every requested Flunder exists. */
export function startFlunderServer(admin: Client, namespace: string): Promise<ServingPod> {
  const { group, version, kind, name: plural } = FLUNDERS;
  const apiVersion = `${group}/${version}`;
  const root = `/apis/${apiVersion}`;
  return ServingPod.start(admin, {
    namespace,
    service: "tiny-service",
    secret: "tiny-service-cert",
    answer({ path }) {
      if (path === root) {
        const resources = [{ name: plural, singularName: "flunder", namespaced: true, kind, verbs: ["get", "list"] }];
        return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources };
      }
      const [, where, name] = new RegExp(`^${root}/namespaces/([^/]+)/${plural}/([^/]+)$`).exec(path) ?? [];
      if (name) return { apiVersion, kind, metadata: { namespace: where, name } };
      return path.endsWith(`/${plural}`) ? { apiVersion, kind: `${kind}List`, metadata: {}, items: [] } : undefined;
    },
  });
}
