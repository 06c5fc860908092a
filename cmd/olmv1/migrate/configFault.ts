import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import type { Csv } from "../../../pkg/bundle/types.ts";
import { objectAt, objectsAt } from "../../../pkg/migrate/objectFields.ts";
import { messageOf, TerminalError } from "../../../pkg/errors/errors.ts";
import { bundleConfig } from "../../../pkg/render/config.ts";

const PREFIX = /^(invalid ClusterExtension configuration: )?(invalid configuration: )?/;

/**
 * Why an extension with the install modes of a ClusterServiceVersion cannot have a configuration, in one line; undefined where it can. OLM classic
 * takes members of `spec.config` that it does not know without a word.
 */
export function configFault(csv: KubeObject, inline: JsonObject, installNamespace: string): string | undefined {
  if (Object.keys(inline).length === 0) return undefined;
  const read = { spec: { installModes: objectsAt(objectAt(csv, "spec"), "installModes") } } as unknown as Csv;
  try {
    bundleConfig(read, inline, { deploymentConfig: true, extended: true, installNamespace });
    return undefined;
  } catch (err) {
    if (!(err instanceof TerminalError)) throw err;
    return messageOf(err).replace(PREFIX, "").replaceAll(/\s+/g, " ").trim();
  }
}
