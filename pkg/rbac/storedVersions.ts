import type { KubeObject } from "../api/k8s.ts";
import { versionsOf } from "../crdsafety/crdParts.ts";
import { isCrd } from "../release/identity.ts";
import { type Grant, rulesFrom } from "./grants.ts";
import type { RequiredRules } from "./rules.ts";

/** The right to take versions from `status.storedVersions` of a CRD. */
export function storedVersionsGrant(crd: string): Grant {
  return { group: "apiextensions.k8s.io", resource: "customresourcedefinitions/status", name: crd, verb: "patch" };
}

/**
 * What upgrades from one of these bundles to a later one take beside the rights for each of them: where a CRD loses a version in which objects
 * were stored and are written no more, that version has to be taken from its status first. No other upgrade needs this right.
 * @param bundles the objects of each, the oldest first.
 */
export function storedVersionRules(bundles: readonly (readonly KubeObject[])[]): RequiredRules {
  const names = new Set<string>();
  bundles.forEach((objects, at) => {
    for (const before of objects.filter(isCrd)) {
      const { name } = before.metadata;
      const left = versionsOf(before).filter(({ storage }) => !storage);
      const later = bundles.slice(at + 1).flatMap((others) => others.filter((object) => isCrd(object) && object.metadata.name === name));
      if (later.some((after) => left.some((version) => !versionsOf(after).some((other) => other.name === version.name)))) names.add(name);
    }
  });
  return { clusterRules: rulesFrom([...names].map(storedVersionsGrant)), namespaceRules: new Map(), unknownKinds: [] };
}
