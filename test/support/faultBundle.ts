import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { thingDefinition } from "./thingDefinition.ts";
import { tinyBundle } from "./tinyBundle.ts";

/** Versions of the bundle with which things go wrong. */
export type FaultVersion = "1.0.0" | "2.0.0";

/** The ConfigMaps of each version: one changes, one goes, one comes. */
const CONFIG_MAPS: Readonly<Record<FaultVersion, readonly string[]>> = { "1.0.0": ["settings", "old"], "2.0.0": ["settings", "new"] };

/**
 * The files of a bundle of five objects: a CustomResourceDefinition, a Service, a Deployment, ConfigMap `settings` that tells the version, and
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

/** What that bundle is rendered to in a namespace. */
export function faultObjects(version: FaultVersion, namespace: string): KubeObject[] {
  const files = new Map(Object.entries(faultBundle(version)).map(([path, text]) => [path, Buffer.from(text)]));
  return renderBundle(loadBundle(files), { installNamespace: namespace });
}
