import type { KubeObject } from "../api/k8s.ts";
import { aggregatedApis } from "../bundle/apiServices.ts";
import { kindOf, versionsOf } from "../crdsafety/crdParts.ts";
import type { Gvk } from "../resolve/constraint/constraint.ts";
import { isCrd } from "./identity.ts";

/**
 * The APIs that the CustomResourceDefinitions among `objects` serve, in their order, then those of its APIServices; a definition that names no
 * group or kind gives none.
 */
export function servedApis(objects: readonly KubeObject[]): Gvk[] {
  const defined = objects.filter(isCrd).flatMap((crd) => {
    const { group, kind } = kindOf(crd);
    if (group === "" || kind === "") return [];
    return versionsOf(crd).flatMap(({ name, served }) => (served && name !== "" ? [{ group, version: name, kind }] : []));
  });
  return [...defined, ...aggregatedApis(objects).map(({ group, version, kind }) => ({ group, version, kind }))];
}
