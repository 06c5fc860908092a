import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";
import { type Owner, ownershipOf } from "../../release/ownership.ts";
import type { LiveObjects } from "./applier.ts";

/** What names an object, as an object. */
export function asObject({ apiVersion, kind, name, namespace }: ObjectRef): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

/** Those of `objects` that are live and the owner's, as they are on the cluster. */
export function oursOf(objects: readonly KubeObject[], live: LiveObjects, owner: Owner): KubeObject[] {
  return objects.flatMap((object) => {
    const found = live.get(objectKey(object));
    return found && ownershipOf(found, owner).kind === "ours" ? [found] : [];
  });
}
