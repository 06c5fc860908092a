import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { ANNOTATION_MIGRATED_FROM } from "../api/migration.ts";
import type { BundleOffer } from "./eligibilityInput.ts";
import type { OperatorGroup } from "./operatorGroup.ts";
import { getNamespacedName, type Subscription } from "./subscription.ts";

/**
 * The identity that installs a converted extension: the ServiceAccount that permission-manager creates, one that the conversion creates (by default
 * named like the extension, with suffix -installer), or an existing one.
 */
export type TargetAccount =
  | { readonly kind: "Managed" }
  | { readonly kind: "Created"; readonly name?: string }
  | { readonly kind: "Existing"; readonly name: string };

/** The input for a ClusterExtension. */
export interface ExtensionParts {
  readonly name: string;
  readonly subscription: Subscription;
  readonly group: OperatorGroup | undefined;
  readonly offer: BundleOffer;
  /** Whether OLM v0 still provides a dependency of the operator, which no extension does. */
  readonly needsOlmV0: boolean;
  /** Name of the ServiceAccount, in the Subscription's namespace; undefined for managed permissions. */
  readonly serviceAccount: string | undefined;
}

/**
 * Returns the ClusterExtension for a Subscription. It has the same package, channel, namespace, configuration and watched namespaces, uses only the
 * catalog of the offer, and is pinned to the installed version.
 */
export function buildExtension({ name, subscription, group, offer, needsOlmV0, serviceAccount }: ExtensionParts): ClusterExtension {
  const { namespace, packageName, channel } = subscription;
  const inline = buildConfiguration(subscription, group);
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, annotations: { [ANNOTATION_MIGRATED_FROM]: getNamespacedName(subscription) } },
    spec: {
      namespace,
      ...(serviceAccount === undefined ? {} : { serviceAccount: { name: serviceAccount } }),
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName,
          ...(channel === undefined ? {} : { channels: [channel] }),
          version: offer.version,
          selector: { matchLabels: { [LABEL_METADATA_NAME]: offer.catalog } },
        },
      },
      uninstall: { crdPolicy: "Retain" }, // OLM v0 never deletes CRDs
      ...(needsOlmV0 ? { dependencies: { policy: "Ignore" as const } } : {}),
      ...(Object.keys(inline).length > 0 ? { config: { configType: "Inline" as const, inline } } : {}),
    },
  };
}

/** Returns `spec.config.inline` of the extension: the watched namespaces, and the Subscription's Deployment settings. */
export function buildConfiguration({ config }: Subscription, group: OperatorGroup | undefined): JsonObject {
  const { selector: _, ...deploymentConfig } = config;
  const targets = group?.targets ?? [];
  const scope = targets.length > 1 ? { watchNamespaces: [...targets] } : targets.length === 1 ? { watchNamespace: targets[0] } : {};
  return { ...scope, ...(Object.keys(deploymentConfig).length > 0 ? { deploymentConfig } : {}) };
}
