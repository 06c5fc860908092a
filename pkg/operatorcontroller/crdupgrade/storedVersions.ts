import { Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { storedVersionsOf } from "../../crdsafety/crdParts.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import type { Client } from "../../kube/client.ts";

/**
 * Takes versions from a CRD's status.storedVersions, which the API server demands before it lets them go. For a CRD without custom
 * resources, in versions that none is written in: then none can be stored in them.
 * @returns the sentence that says so.
 * @throws RetryableError Retrying when that is not allowed, or when the CRD is no longer as it was read.
 */
export async function dropStoredVersions(
  client: Pick<Client, "patch">,
  crd: KubeObject,
  versions: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { name, resourceVersion } = crd.metadata;
  const storedVersions = storedVersionsOf(crd).filter((version) => !versions.includes(version));
  const body = { metadata: { resourceVersion }, status: { storedVersions } };
  try {
    await client.patch(refOf(crd), body, { type: "merge", subresource: "status", signal });
  } catch (err) {
    const removed = `stored versions removed : [${versions.join(" ")}]`;
    const doing = `no object is stored in them, but status.storedVersions of the CRD could not be written: ${messageOf(err)}`;
    throw new RetryableError(Reason.Retrying, `validating upgrade for CRD ${goQuote(name)}: storedVersionRemoval: ${removed}; ${doing}`, {
      cause: err,
    });
  }
  return `took ${versions.join(", ")} from status.storedVersions of CRD ${goQuote(name)}: no custom resource of it exists`;
}
