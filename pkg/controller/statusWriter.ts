import { type KubeObject, refOf } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid, isNotFound } from "../kube/errors.ts";

/**
 * Replaces the status of an object, if it is still the one that was read and not one made anew under its name.
 * A merge patch would not do: of the metadata in a patch of a status the API server takes nothing, not even the uid as a condition.
 * @returns the object as it is now; undefined when it is another one, or gone.
 * @throws KubeError when the status is refused.
 */
export async function replaceStatus(
  client: Pick<Client, "get" | "patch">,
  object: Readonly<KubeObject>,
  status: object,
): Promise<KubeObject | undefined> {
  const ref = refOf(object);
  const body = [
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "add", path: "/status", value: status },
  ];
  try {
    return await client.patch(ref, body, { type: "json", subresource: "status" });
  } catch (err) {
    if (isNotFound(err)) return undefined;
    if (!isInvalid(err)) throw err;
    const live = await client.get(ref, { metadataOnly: true });
    if (live?.metadata.uid === object.metadata.uid) throw err;
    return undefined;
  }
}
