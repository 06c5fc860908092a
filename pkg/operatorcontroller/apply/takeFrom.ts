import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, FIELD_MANAGER, LABEL_OWNER_KIND, LABEL_OWNER_NAME, Reason } from "../../api/constants.ts";
import { type JsonObject, type KubeObject, refOf } from "../../api/k8s.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict } from "../../kube/errors.ts";
import { isCrd } from "../../release/identity.ts";
import { type Owner, ownershipOf } from "../../release/ownership.ts";
import type { Need } from "./handovers.ts";

/** How often an object is read again because another writer changed it in between. */
const WRITES_MAX = 5;

/**
 * Makes the live object of another extension ours with one write, if it still is that extension's: at each moment it has one owner, and it is never
 * deleted. What it says stays as it is; the apply that follows changes that.
 * @returns the object as it is now; undefined if it does not exist any more.
 * @throws RetryableError Retrying if it has become someone else's.
 */
export async function takeFrom(
  client: Pick<Client, "get" | "patch">,
  { object, owner: from }: Need,
  owner: Owner,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  for (let writes = 1; ; writes++) {
    const live = await client.get(refOf(object), { signal });
    const ownership = ownershipOf(live, owner);
    if (!live || ownership.kind === "ours") return live;
    if (ownership.kind === "foreign" && ownership.owner !== from) throw new RetryableError(Reason.Retrying, ownership.message);
    const { uid, resourceVersion } = live.metadata;
    const metadata = { ...ownerMarks(object, live), uid, resourceVersion };
    try {
      return await client.patch(refOf(object), { metadata }, { type: "merge", fieldManager: FIELD_MANAGER, signal });
    } catch (err) {
      if (!isConflict(err) || writes === WRITES_MAX) throw err;
    }
  }
}

/** The metadata that makes `live` belong to the owner of `object`, in a merge patch. */
export function ownerMarks({ metadata, ...object }: KubeObject, live: KubeObject): JsonObject {
  const { labels = {}, annotations = {}, ownerReferences: ours = [] } = metadata;
  const others = (live.metadata.ownerReferences ?? []).filter(({ controller, kind }) => controller !== true && kind !== CLUSTER_EXTENSION);
  const marks = { [LABEL_OWNER_KIND]: labels[LABEL_OWNER_KIND], [LABEL_OWNER_NAME]: labels[LABEL_OWNER_NAME] };
  const uid = isCrd(object) ? { annotations: { [ANNOTATION_OWNER_UID]: annotations[ANNOTATION_OWNER_UID] } } : {};
  return { labels: marks, ownerReferences: [...others, ...ours], ...uid };
}
