import type { KubeObject } from "./k8s.ts";

/** With "true", OpenShift's network operator writes the certificate authorities of the cluster into a ConfigMap. */
export const TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle";
/** The key under which it writes them. */
export const TRUSTED_CA_KEY = "ca-bundle.crt";

/** Whether OpenShift writes into an object. */
export function takesTrustedCa({ apiVersion, kind, metadata }: KubeObject): boolean {
  return kind === "ConfigMap" && apiVersion === "v1" && metadata.labels?.[TRUSTED_CA_LABEL] === "true";
}
