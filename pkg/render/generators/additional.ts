import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { sortedKeys } from "../../bundle/goTypes.ts";
import { supportedScope } from "../../bundle/validate.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { GeneratorOptions } from "./options.ts";

/**
 * The bundle's other manifests as they are, namespaced ones moved into the install namespace.
 * @throws RetryableError Retrying for a kind that bundles must not hold.
 */
export function additionalResources({ others }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  return others.map((object) => {
    const scope = supportedScope(object.kind);
    if (scope === undefined) {
      throw new RetryableError(
        Reason.Retrying,
        `bundle contains unsupported resource: Name: ${object.metadata?.name ?? ""}, Kind: ${object.kind}`,
      );
    }
    return scope === "namespaced" ? inNamespace(object, installNamespace) : object;
  });
}

/** Metadata that is no map is left alone, as upstream does. */
function inNamespace(object: KubeObject, namespace: string): KubeObject {
  const metadata: unknown = object.metadata ?? ("metadata" in object ? null : {});
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return object;
  const moved = sortedKeys({ ...metadata, namespace }) as KubeObject["metadata"];
  return "metadata" in object ? { ...object, metadata: moved } : (sortedKeys({ ...(object as object), metadata: moved }) as KubeObject);
}
