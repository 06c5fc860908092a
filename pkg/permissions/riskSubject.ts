import { getGroup, type ObjectRef } from "../api/k8s.ts";
import { findKnownResource } from "../rbac/resources.ts";

/** The installation whose permissions are classified. */
export interface RiskSubject {
  readonly installNamespace: string;
  /** Namespace of the servers. */
  readonly systemNamespace: string;
  /** Names of the bundle's objects by group and resource, see {@link formatOwnResource}. */
  readonly ownNames: ReadonlyMap<string, ReadonlySet<string>>;
  /** API groups of the bundle's CustomResourceDefinitions and APIServices. */
  readonly ownGroups: ReadonlySet<string>;
}

/** The namespaces of an installation. */
export type RiskPlace = Pick<RiskSubject, "installNamespace" | "systemNamespace">;

/** An object of the bundle. */
export interface OwnedObject {
  /** "" for the core group. */
  readonly group: string;
  /** The resource of its kind; undefined if it is not known. */
  readonly resource: string | undefined;
  readonly name: string;
  /** The API group that it defines, if it is a CustomResourceDefinition or an APIService. */
  readonly definedGroup: string | undefined;
}

/**
 * Returns the key of a resource in `ownNames`, such as "rbac.authorization.k8s.io/roles". It contains the group, because a bundle can define a resource
 * with the plural of another one.
 */
export function formatOwnResource(group: string, resource: string): string {
  return `${group}/${resource}`;
}

const DEFINITION = "CustomResourceDefinition";

/** Returns what the risk of an extension's permissions depends on, for a bundle with these objects. */
export function buildRiskSubject({ installNamespace, systemNamespace }: RiskPlace, owned: readonly OwnedObject[]): RiskSubject {
  const ownNames = new Map<string, Set<string>>();
  const ownGroups = new Set<string>();
  for (const { group, resource, name, definedGroup } of owned) {
    const key = resource === undefined ? undefined : formatOwnResource(group, resource);
    if (key !== undefined) ownNames.set(key, (ownNames.get(key) ?? new Set()).add(name));
    if (definedGroup !== undefined) ownGroups.add(definedGroup);
  }
  return { installNamespace, systemNamespace, ownNames, ownGroups };
}

/**
 * Returns what the risk of an extension's permissions depends on, according to the objects in its inventory. Permissions on installed objects that
 * the inventory omits count as permissions on objects of other owners.
 */
export function describeInstalledSubject(inventory: readonly ObjectRef[], place: RiskPlace): RiskSubject {
  const owned = inventory.map((object) => ({
    group: getGroup(object.apiVersion),
    resource: findKnownResource(object)?.resource,
    name: object.name,
    // The API server only accepts definitions that are named <plural>.<group>.
    definedGroup: object.kind === DEFINITION ? object.name.slice(object.name.indexOf(".") + 1) : undefined,
  }));
  return buildRiskSubject(place, owned);
}
