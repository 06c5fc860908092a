import { isObject } from "../api/jsonObject.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import { hasWebhook, storedVersionsOf, versionsOf } from "./crdParts.ts";

/** The Service that converts the custom resources of a CRD; undefined without a conversion webhook, and for one that is called by URL. */
export function conversionServiceOf(crd: KubeObject): ObjectRef | undefined {
  if (!hasWebhook(crd)) return undefined;
  const { conversion } = crd["spec"] as { conversion: { webhook?: { clientConfig?: { service?: unknown } } } };
  const service = conversion.webhook?.clientConfig?.service;
  if (!isObject(service) || typeof service["name"] !== "string" || typeof service["namespace"] !== "string") return undefined;
  return { apiVersion: "v1", kind: "Service", namespace: service["namespace"], name: service["name"] };
}

/**
 * Whether custom resources of a CRD stay what they are when their conversion only changes the apiVersion (strategy None): they are stored in one
 * version, and every served version has the schema of that one.
 */
export function isConvertibleByName(crd: KubeObject): boolean {
  const [stored, ...others] = storedVersionsOf(crd);
  const versions = versionsOf(crd);
  const from = versions.find(({ name }) => name === stored);
  if (!from || others.length > 0) return false;
  const schema = canonicalJson(from.schema ?? null);
  return versions.every((version) => !version.served || canonicalJson(version.schema ?? null) === schema);
}
