import { ANNOTATION_OWNER_UID, FIELD_MANAGER } from "../../api/constants.ts";
import { type JsonObject, type KubeObject, refOf } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { isCrd } from "../../release/identity.ts";
import { GO_FIELD_MANAGER, handedOver } from "../../release/managedFields.ts";

/**
 * Makes live objects that others wrote, such as the Go operator-controller, ours in every respect, without a change of what they say:
 *
 * | on the object                         | becomes                                                                         |
 * | fields of its field manager           | fields of our applies: what a later version of the bundle leaves out really goes |
 * | on a CRD, a reference to the extension | the annotation with its uid: the garbage collector cannot take the CRD, and every custom resource with it |
 *
 * One request for each object that has either, none for the others.
 * @param managers field managers whose fields become ours.
 * @returns the objects as they are now, in the same order.
 * @throws KubeError 409 when somebody wrote an object at the same time.
 */
export async function takeOver(
  client: Pick<Client, "patch">,
  objects: readonly KubeObject[],
  ownerUid: string,
  signal: AbortSignal,
  managers: readonly string[] = [GO_FIELD_MANAGER],
): Promise<KubeObject[]> {
  const taken: KubeObject[] = [];
  for (const object of objects) {
    const metadata = { ...fields(object, managers), ...(isCrd(object) ? ownerAsAnnotation(object, ownerUid) : {}) };
    if (Object.keys(metadata).length === 0) {
      taken.push(object);
      continue;
    }
    const { resourceVersion } = object.metadata;
    const body = { metadata: { ...metadata, resourceVersion } };
    taken.push(await client.patch(refOf(object), body, { type: "merge", fieldManager: FIELD_MANAGER, signal }));
  }
  return taken;
}

function fields({ metadata: { managedFields = [] } }: KubeObject, managers: readonly string[]): JsonObject {
  const ours = managers.reduce((entries, manager) => handedOver(entries, manager, FIELD_MANAGER) ?? entries, managedFields);
  return ours === managedFields ? {} : { managedFields: ours };
}

function ownerAsAnnotation({ metadata: { ownerReferences = [] } }: KubeObject, ownerUid: string): JsonObject {
  const others = ownerReferences.filter(({ uid }) => uid !== ownerUid);
  if (others.length === ownerReferences.length) return {};
  return { ownerReferences: others, annotations: { [ANNOTATION_OWNER_UID]: ownerUid } };
}
