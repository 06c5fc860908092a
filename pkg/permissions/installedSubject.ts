import type { ObjectRef } from "../api/k8s.ts";
import { findKnownResource } from "../rbac/resources.ts";
import type { RiskSubject } from "./riskClasses.ts";

const DEFINITION = "CustomResourceDefinition";

/**
 * Returns what the risk of an extension's permissions depends on, according to the objects in its inventory. Permissions on installed objects that
 * the inventory omits count as permissions on objects of other owners.
 */
export function describeInstalledSubject(
  inventory: readonly ObjectRef[],
  { installNamespace, systemNamespace }: Pick<RiskSubject, "installNamespace" | "systemNamespace">,
): RiskSubject {
  const ownNames = new Map<string, Set<string>>();
  const ownGroups = new Set<string>();
  for (const object of inventory) {
    const resource = findKnownResource(object)?.resource;
    if (resource !== undefined) ownNames.set(resource, (ownNames.get(resource) ?? new Set()).add(object.name));
    // The API server only accepts definitions that are named <plural>.<group>.
    if (object.kind === DEFINITION) ownGroups.add(object.name.slice(object.name.indexOf(".") + 1));
  }
  return { installNamespace, systemNamespace, ownNames, ownGroups };
}
