import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import type { BundleContent, Place } from "./content.ts";

/** A container of the CSV's deployments. */
export interface PlacedContainer {
  readonly deployment: string;
  readonly container: JsonObject;
  readonly name: string;
  /** Path of the container in the CSV. */
  readonly path: readonly (string | number)[];
}

/** Every container of every deployment, init containers after the others of their deployment. */
export function containersOf({ csv }: BundleContent): PlacedContainer[] {
  return (csv?.spec.install.spec.deployments ?? []).flatMap(({ name: deployment, spec }, i) => {
    const pod: JsonObject = { ...spec.template.spec };
    return ["containers", "initContainers"].flatMap((list) => {
      const containers: unknown = pod[list];
      return (Array.isArray(containers) ? containers : []).flatMap((container: unknown, j): PlacedContainer[] => {
        if (!isObject(container)) return [];
        const name = typeof container["name"] === "string" ? container["name"] : "";
        return [{ deployment, container, name, path: [...podPath(i), list, j] }];
      });
    });
  });
}

/** Path of the pod's spec of a deployment in the CSV. */
export function podPath(deployment: number): (string | number)[] {
  return ["spec", "install", "spec", "deployments", deployment, "spec", "template", "spec"];
}

/** A place in a container. */
export function inContainer(content: BundleContent, { path }: PlacedContainer, ...more: (string | number)[]): Place {
  return content.inCsv(...path, ...more);
}

/** The container in a sentence. */
export function named({ name, deployment }: PlacedContainer): string {
  return `container "${name}" of deployment "${deployment}"`;
}
