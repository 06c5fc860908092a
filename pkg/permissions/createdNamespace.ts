import type { KubeObject } from "../api/k8s.ts";
import { type PermissionPolicySpec, POD_SECURITY_LEVELS, type PodSecurityLevel } from "../api/permissionPolicy.ts";
import type { SuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import { labelForExtension } from "./grantObjects.ts";

const POD_SECURITY = "pod-security.kubernetes.io/";
const ENFORCE = `${POD_SECURITY}enforce`;
const WARN = `${POD_SECURITY}warn`;
/** Labels and annotations with these prefixes mean something to Kubernetes or to this project, so that a bundle must not set them. */
const RESERVED = ["kubernetes.io/", "k8s.io/", "olm.operatorframework.io/"];

/**
 * Builds the namespace to create for an extension. Its labels are, later ones first:
 *
 * | labels                                    | source                                                          |
 * | the label for the extension               |                                                                 |
 * | enforced Pod Security level               | the stricter one of `podSecurity` of the policy and the bundle's |
 * | other labels                              | `labels` of the policy                                          |
 * | other labels, except those of Kubernetes  | the bundle's template                                           |
 * | pod-security.kubernetes.io/warn           | restricted                                                      |
 */
export function buildCreatedNamespace(
  extension: string,
  name: string,
  { grant, namespaces = {} }: Pick<PermissionPolicySpec, "grant" | "namespaces">,
  suggested: Omit<SuggestedNamespace, "name">,
): KubeObject {
  const { template = "Use", labels: own = {}, podSecurity = grant === "Automatic" ? "privileged" : "baseline" } = namespaces;
  const { labels, annotations } = template === "Use" ? suggested : { labels: {}, annotations: {} };
  const enforced = own[ENFORCE] ?? chooseLevel(podSecurity, labels[ENFORCE]);
  return labelForExtension(extension, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      labels: { [WARN]: "restricted", ...omitReserved(labels), ...own, [ENFORCE]: enforced },
      ...(Object.keys(annotations).length > 0 ? { annotations: omitReserved(annotations) } : {}),
    },
  });
}

/** Returns the level that the bundle suggests, if it is valid and not less strict than `minimum`; default: baseline, or `minimum` if it is stricter. */
function chooseLevel(minimum: PodSecurityLevel, suggested: string | undefined): PodSecurityLevel {
  const level = POD_SECURITY_LEVELS.find((one) => one === suggested) ?? "baseline";
  return POD_SECURITY_LEVELS.indexOf(level) >= POD_SECURITY_LEVELS.indexOf(minimum) ? level : minimum;
}

function omitReserved(texts: Readonly<Record<string, string>>): Record<string, string> {
  const isReserved = (key: string): boolean => RESERVED.some((domain) => key.slice(0, key.indexOf("/") + 1).endsWith(domain));
  return Object.fromEntries(Object.entries(texts).filter(([key]) => key.startsWith(POD_SECURITY) || !isReserved(key)));
}
