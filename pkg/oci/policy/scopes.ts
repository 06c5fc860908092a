import { nameOf, type Reference, referenceText } from "../reference.ts";
import type { LayoutTransport, Policy, Requirement } from "./policyFile.ts";

/** The requirements that apply to an image, and the scope that has them; undefined for those of `default`. */
export interface Applicable {
  readonly scope: string | undefined;
  readonly requirements: readonly Requirement[];
}

/**
 * What has to hold for an image: that of the most specific scope alone.
 * @param ref with a tag or a digest
 */
export function applicable(policy: Policy, ref: Reference): Applicable {
  for (const scope of scopesOf(ref)) {
    const requirements = policy.docker.get(scope);
    if (requirements) return { scope, requirements };
  }
  return { scope: undefined, requirements: policy.default };
}

/** The same for an image in a layout. @param path absolute, without symlinks @param name "" for none */
export function applicableToLayout(policy: Policy, transport: LayoutTransport, path: string, name: string): Applicable {
  const scopes = [...(name === "" ? [] : [`${path}:${name}`]), path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) scopes.push(path.slice(0, at));
  for (const scope of [...scopes, ""]) {
    const requirements = policy.layouts[transport].get(scope);
    if (requirements) return { scope, requirements };
  }
  return { scope: undefined, requirements: policy.default };
}

/**
 * The scopes an image is in, from the most specific: itself, its repository and the namespaces above, the host, `*.` with each domain above
 * the host, and "" for every image.
 */
export function scopesOf(ref: Reference): string[] {
  const scopes = [referenceText(ref)];
  for (let name = nameOf(ref); ; name = name.slice(0, name.lastIndexOf("/"))) {
    scopes.push(name);
    if (!name.includes("/")) break;
  }
  const labels = ref.registry.replace(/:.*$/, "").split(".");
  for (let from = 1; from < labels.length; from++) scopes.push(`*.${labels.slice(from).join(".")}`);
  return [...scopes, ""];
}
