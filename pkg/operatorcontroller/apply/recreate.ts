import { groupOf, type KubeObject } from "../../api/k8s.ts";
import { isInvalid, type KubeError } from "../../kube/errors.ts";

/** Kinds that hold nothing that is lost with them: what they make or allow is there again as soon as they are. */
const RECREATED: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "rbac.authorization.k8s.io/RoleBinding",
]);
/** How the API server says that a field of an existing object cannot be changed; there is no code for it. */
const IMMUTABLE = /field is immutable|cannot change roleRef|updates to .* for fields other than .* are forbidden/;

/** Whether an object may be deleted and created anew, where a field of it cannot be changed. */
export function isRecreated({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return RECREATED.has(`${groupOf(apiVersion)}/${kind}`);
}

/** Whether some owner of one object owns the other too. */
export function haveSameOwner(a: KubeObject, b: KubeObject): boolean {
  const owners = new Set(a.metadata.ownerReferences?.map(({ uid }) => uid));
  return b.metadata.ownerReferences?.some(({ uid }) => owners.has(uid)) ?? false;
}

/** True when the API server refused a change for nothing but fields that cannot be changed: any other mistake would be there after a deletion too. */
export function isImmutableField(err: unknown): err is KubeError {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  const messages = Array.isArray(causes) ? causes.map(messageIn) : [err.message];
  return messages.length > 0 && messages.every((message) => IMMUTABLE.test(message));
}

function messageIn(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "message" in cause && typeof cause.message === "string" ? cause.message : "";
}
