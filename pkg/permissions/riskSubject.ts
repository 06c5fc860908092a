import type { ObjectRef } from "../api/k8s.ts";
import { findKnownResource } from "../rbac/resources.ts";

/** The installation whose permissions are classified. */
export interface RiskSubject {
  readonly installNamespace: string;
  /** Namespace of the servers. */
  readonly systemNamespace: string;
  /** Names of the bundle's objects by resource, such as "validatingwebhookconfigurations". */
  readonly ownNames: ReadonlyMap<string, ReadonlySet<string>>;
  /** API groups of the bundle's CustomResourceDefinitions and APIServices. */
  readonly ownGroups: ReadonlySet<string>;
}

/** The namespaces of an installation. */
export type RiskPlace = Pick<RiskSubject, "installNamespace" | "systemNamespace">;

/** An object of the bundle. */
export interface OwnedObject {
  /** The resource of its kind; undefined if it is not known. */
  readonly resource: string | undefined;
  readonly name: string;
  /** The API group that it defines, if it is a CustomResourceDefinition or an APIService. */
  readonly definedGroup: string | undefined;
}

const DEFINITION = "CustomResourceDefinition";

/** Returns what the risk of an extension's permissions depends on, for a bundle with these objects. */
export function buildRiskSubject({ installNamespace, systemNamespace }: RiskPlace, owned: readonly OwnedObject[]): RiskSubject {
  const ownNames = new Map<string, Set<string>>();
  const ownGroups = new Set<string>();
  for (const { resource, name, definedGroup } of owned) {
    if (resource !== undefined) ownNames.set(resource, (ownNames.get(resource) ?? new Set()).add(name));
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
    resource: findKnownResource(object)?.resource,
    name: object.name,
    // The API server only accepts definitions that are named <plural>.<group>.
    definedGroup: object.kind === DEFINITION ? object.name.slice(object.name.indexOf(".") + 1) : undefined,
  }));
  return buildRiskSubject(place, owned);
}
