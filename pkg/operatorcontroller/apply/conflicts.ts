import { Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { objectKey } from "../../release/identity.ts";
import { uninstallOrder } from "../../release/order.ts";
import { ownershipConflict } from "../../release/ownership.ts";
import { type IsOver, WaitingError } from "../waiting.ts";
import { type KindRequest, kindConflicts } from "./kindConflicts.ts";

/** Milliseconds between two looks at what an extension cannot have because it is somebody else's. */
const RECHECK_MS = 3_000;
const GO_PREFIX = "failed to get release state using server-side dry-run: ";

/** Whose the desired objects are to be. */
export interface ConflictRequest extends KindRequest {
  /** Keys of what the deployed release holds: that needs no proof that it is the extension's. */
  released: ReadonlySet<string>;
}

/** Those of the desired objects that are somebody else's, each with the message that refuses it. */
export function foreignObjects({
  desired,
  live,
  owner,
  extensionExists,
  released,
}: ConflictRequest): { object: KubeObject; message: string }[] {
  return desired.flatMap((object) => {
    const key = objectKey(object);
    const message = released.has(key) ? undefined : ownershipConflict(live.get(key), owner, extensionExists);
    return message === undefined ? [] : [{ object, message }];
  });
}

/**
 * Refuses objects that are somebody else's, and kinds that are defined already. What is waited for is the object that an uninstallation of all
 * of them would remove last: one request for its metadata each time; without any, the kinds.
 * @throws WaitingError Retrying with every conflict at once.
 */
export async function requireUnclaimed(client: Pick<Client, "raw" | "get">, request: ConflictRequest, signal: AbortSignal): Promise<void> {
  const { owner, extensionExists } = request;
  const refused = foreignObjects(request);
  const kinds = await kindConflicts(client, request, signal);
  const messages = [...refused.map(({ message }) => message), ...kinds];
  if (messages.length === 0) return;
  const last = uninstallOrder(refused.map(({ object }) => object)).at(-1);
  const isFree: IsOver = async (until) => {
    if (!last) return true;
    const found = await client.get(refOf(last), { metadataOnly: true, signal: until });
    return ownershipConflict(found, owner, extensionExists) === undefined;
  };
  // The ServiceAccount may not be allowed to read the definition, but the kinds that are served anybody may.
  const isUndefined: IsOver = async (until) => (await kindConflicts(client, request, until)).length === 0;
  throw new WaitingError(Reason.Retrying, `${GO_PREFIX}${messages.join("\n")}`, {
    isOver: last ? isFree : isUndefined,
    everyMs: RECHECK_MS,
  });
}
