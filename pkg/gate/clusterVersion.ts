import type { MinorVersion } from "./minorVersion.ts";

/** What is known of the version of the OpenShift cluster. */
export type ClusterVersion =
  /** `text` as the cluster says it, and its major and minor. */
  | { readonly kind: "known"; readonly text: string; readonly minor: MinorVersion }
  /** This is no OpenShift cluster, and nobody has set a version. */
  | { readonly kind: "none" }
  /** There is one, and it cannot be told for this cause. */
  | { readonly kind: "unknown"; readonly because: string };
