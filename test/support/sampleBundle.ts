import { loadBundle } from "../../pkg/bundle/load.ts";
import type { RegistryV1Bundle } from "../../pkg/bundle/types.ts";
import { buildSampleBundles, SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";

/**
 * Returns a version of the sample operator under another name, API group included, so that several tests can install it on one cluster.
 * @param name a DNS label; it replaces "hello" everywhere.
 */
export function renamedSample(name: string, version: string): RegistryV1Bundle {
  const bundle = buildSampleBundles().find((candidate) => candidate.version === version);
  if (!bundle) throw new Error(`${SAMPLE_PACKAGE} has no version ${version}`);
  const renamed = [...bundle.files].map(([path, content]): [string, Uint8Array] => {
    const text = Buffer.from(content).toString("utf8");
    return [path, Buffer.from(text.replaceAll("hello", name), "utf8")];
  });
  return loadBundle(new Map(renamed));
}
