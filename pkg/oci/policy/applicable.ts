import { listImageScopes } from "../imageScopes.ts";
import type { Reference } from "../reference.ts";
import { type ImagePolicies, NO_IMAGE_POLICIES } from "./imagePolicies.ts";
import type { LayoutTransport, Policy, PolicyRequirement } from "./policyFile.ts";

/** The requirements for an image, and their scope; the scope is undefined for `default`. */
export interface Applicable {
  readonly scope: string | undefined;
  readonly requirements: readonly PolicyRequirement[];
}

/**
 * Returns the requirements for an image. The most specific scope of the file or of a
 * ClusterImagePolicy applies alone; if both have it, all their requirements apply. ImagePolicies
 * apply to images without such a scope, and add to the default of the file, so that a namespace
 * cannot accept what the administrator rejects.
 * @param ref with a tag or a digest
 * @param namespace the namespace that uses the image; undefined for the cluster
 * @see https://github.com/openshift/machine-config-operator/blob/24d9a767570d294d46a47a37fff9fb99b2304d4b/pkg/controller/container-runtime-config/helpers.go, updatePolicyJSON
 */
export function findApplicable(file: Policy, ref: Reference, policies: ImagePolicies = NO_IMAGE_POLICIES, namespace?: string): Applicable {
  const scopes = listImageScopes(ref);
  for (const scope of scopes) {
    const requirements = [...((scope !== "" && file.docker.get(scope)) || []), ...(policies.cluster.get(scope) ?? [])];
    if (requirements.length > 0) return { scope, requirements };
  }
  const byDefault = file.docker.get("") ?? file.default;
  const own = namespace === undefined ? undefined : policies.byNamespace.get(namespace);
  const scope = own && scopes.find((one) => own.has(one));
  if (own && scope !== undefined) return { scope, requirements: [...byDefault, ...(own.get(scope) ?? [])] };
  return { scope: file.docker.has("") ? "" : undefined, requirements: byDefault };
}

/**
 * Returns the requirements for an image in a layout. @param path absolute, without symlinks @param
 * name "" for none
 */
export function selectLayoutRequirements(policy: Policy, transport: LayoutTransport, path: string, name: string): Applicable {
  const scopes = [...(name === "" ? [] : [`${path}:${name}`]), path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) scopes.push(path.slice(0, at));
  for (const scope of [...scopes, ""]) {
    const requirements = policy.layouts[transport].get(scope);
    if (requirements) return { scope, requirements };
  }
  return { scope: undefined, requirements: policy.default };
}
