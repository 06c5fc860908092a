import { readFileSync } from "node:fs";
import * as z from "zod";
import { SYSTEM_NAMESPACE } from "../pkg/api/constants.ts";

/** Where the kubelet says which namespace a Pod is in. */
const POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * The flag --system-namespace: without it, or with "", the namespace of the Pod, and outside of one that of the manifests.
 * @param purpose what the namespace is, as the flag's help
 * @param file where a Pod's namespace is read; it need not exist
 */
export function systemNamespaceFlag(purpose: string, file: string = POD_NAMESPACE) {
  return z
    .string()
    .default("")
    .transform((text) => text || podNamespace(file) || SYSTEM_NAMESPACE)
    .describe(`${purpose}; default: that of the Pod, else ${SYSTEM_NAMESPACE}`);
}

function podNamespace(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return ""; // not in a Pod
  }
}
