import { Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { storedVersionsOf } from "../../crdsafety/crdParts.ts";
import { RetryableError, messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { storedVersionsGrant } from "../../rbac/requiredRules.ts";
import { ruleLines, ruleOf } from "../../rbac/ruleSets.ts";
import { isAllowed } from "../rights/ownRules.ts";
import { WaitingError } from "../waiting.ts";

/** How to get the right that is needed here and nowhere else, such as "print the exact roles: olmv1 rbac …". */
export type Advice = string;

/**
 * Takes versions from a CRD's status.storedVersions, which the API server demands before it lets them go. For a CRD without custom
 * resources, in versions that none is written in: then none can be stored in them.
 * @returns the sentence that says so.
 * @throws WaitingError Retrying that names the right to do it, when that is not granted.
 * @throws RetryableError Retrying when the CRD is no longer as it was read, or cannot be written just now.
 */
export async function dropStoredVersions(
  client: Pick<Client, "patch" | "raw">,
  crd: KubeObject,
  versions: readonly string[],
  advice: Advice,
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
    const text = `validating upgrade for CRD ${goQuote(name)}: storedVersionRemoval: ${removed}; ${doing}`;
    if (!isForbidden(err)) throw new RetryableError(Reason.Retrying, text, { cause: err });
    const grant = storedVersionsGrant(name);
    const rules = { clusterRules: [ruleOf(grant)], namespaceRules: new Map<string, never>(), unknownKinds: [] };
    const [line] = ruleLines(rules, Number.POSITIVE_INFINITY);
    const isOver = (asked: AbortSignal): Promise<boolean> => isAllowed(client, "", grant, asked);
    throw new WaitingError(Reason.Retrying, `${text}; service account requires the following permission:\n  ${line}; ${advice}`, {
      cause: err,
      isOver,
    });
  }
  return `took ${versions.join(", ")} from status.storedVersions of CRD ${goQuote(name)}: no custom resource of it exists`;
}
