import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { type KubeObject, refOf } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { MADE_KINDS } from "../install/installerObjects.ts";

/** What `olmv1 install` made for an extension and is still there, metadata only, in the order in which it may go. */
export async function madeObjects(client: Pick<Client, "list">, extension: string): Promise<KubeObject[]> {
  const labelSelector = `${LABEL_CREATED_FOR}=${extension}`;
  const found = await Promise.all(MADE_KINDS.map((kind) => client.list(kind, { labelSelector, metadataOnly: true })));
  return found.flatMap(({ items }) => items);
}

/** Deletes objects in their order, each only if it is still the one that was found. @param tell is called with each whose deletion was requested. */
export async function removeObjects(
  client: Pick<Client, "delete">,
  objects: readonly KubeObject[],
  tell: (object: KubeObject) => void,
): Promise<void> {
  for (const object of objects) {
    const { uid } = object.metadata;
    if (await client.delete(refOf(object), uid === undefined ? {} : { uid })) tell(object);
  }
}
