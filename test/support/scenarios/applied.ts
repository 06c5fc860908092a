import { text } from "node:stream/consumers";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { toKubeError } from "../../../pkg/kube/response.ts";

/** The user to impersonate instead of the administrator. */
export interface User {
  user: string;
  group: string;
}

/**
 * Applies a ClusterExtension like kubectl, as the administrator or as another user.
 * @returns the warnings that kubectl would print.
 * @throws KubeError if the API server rejects it.
 */
export async function applyExtension(admin: Client, object: KubeObject, options: { as?: User; dryRun?: boolean } = {}): Promise<string[]> {
  const { as, dryRun } = options;
  const impersonation = as ? { "impersonate-user": as.user, "impersonate-group": as.group } : {};
  const query = new URLSearchParams({ fieldManager: "test", force: "true", ...(dryRun ? { dryRun: "All" } : {}) });
  const path = `/apis/${object.apiVersion}/clusterextensions/${object.metadata.name}?${query.toString()}`;
  const headers = { "content-type": "application/apply-patch+yaml", ...impersonation };
  const { statusCode, headers: got, body } = await admin.request("PATCH", path, { headers, body: JSON.stringify(object) });
  const received = await text(body);
  if (statusCode >= 400) throw toKubeError(statusCode, JSON.parse(received));
  return [got["warning"] ?? []].flat();
}
