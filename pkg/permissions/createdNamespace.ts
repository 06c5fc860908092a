import type { KubeObject } from "../api/k8s.ts";
import { type PermissionPolicySpec, POD_SECURITY_LEVELS, type PodSecurityLevel } from "../api/permissionPolicy.ts";
import type { SuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import { labelForExtension } from "./grantObjects.ts";

const POD_SECURITY = "pod-security.kubernetes.io/";
const ENFORCE = `${POD_SECURITY}enforce`;
const WARN = `${POD_SECURITY}warn`;
/** The Pod Security labels that a bundle may suggest: not their versions, which select old rules. */
const LEVELS: ReadonlySet<string> = new Set([ENFORCE, WARN, `${POD_SECURITY}audit`]);
/** Kubernetes or this project acts on labels of these domains, so that a bundle must not set them. */
const RESERVED_DOMAINS = ["kubernetes.io/", "k8s.io/", "olm.operatorframework.io/"];
/**
 * Labels and annotations that start with these texts weaken a namespace on OpenShift: they switch
 * SecurityContextConstraints off, choose the users and SELinux labels of Pods, or replace the Pod
 * Security levels.
 */
const RESERVED_PREFIXES = ["openshift.io/run-level", "openshift.io/sa.scc.", "security.openshift.io/"];

/**
 * Builds the namespace to create for an extension. Its labels are, later ones first:
 *
 * | labels                                    | source                                                          |
 * | the label for the extension               |                                                                 |
 * | enforced Pod Security level               | the stricter one of `podSecurity` of the policy and the bundle's |
 * | other labels                              | `labels` of the policy                                          |
 * | other labels, except reserved ones        | the bundle's template                                           |
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
  return Object.fromEntries(Object.entries(texts).filter(([key]) => LEVELS.has(key) || !isReserved(key)));
}

function isReserved(key: string): boolean {
  const domain = key.slice(0, key.indexOf("/") + 1);
  return RESERVED_DOMAINS.some((reserved) => domain.endsWith(reserved)) || RESERVED_PREFIXES.some((reserved) => key.startsWith(reserved));
}
