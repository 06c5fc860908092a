import { Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { objectKey } from "../../release/identity.ts";
import { uninstallOrder } from "../../release/plan.ts";
import { ownershipConflict, ownershipOf } from "../../release/ownership.ts";
import { type IsOver, WaitingError } from "../waiting.ts";
import type { Handovers, Need } from "./handovers.ts";
import { type KindRequest, kindConflicts } from "./kindConflicts.ts";

/** Milliseconds between two looks at what an extension cannot have because it is somebody else's. */
const RECHECK_MS = 3_000;
const GO_PREFIX = "failed to get release state using server-side dry-run: ";

/** Whose the desired objects are to be. */
export interface ConflictRequest extends KindRequest {
  /** Keys of what the deployed release holds: that needs no proof that it is the extension's, unless another extension has it. */
  released: ReadonlySet<string>;
}

/** A desired object that is somebody else's. */
export interface ForeignObject {
  object: KubeObject;
  /** Refuses it. */
  message: string;
  /** The extension that owns it, if one does. */
  owner: string | undefined;
}

/** Those of the desired objects that are somebody else's. */
export function foreignObjects({ desired, live, owner, extensionExists, released }: ConflictRequest): ForeignObject[] {
  return desired.flatMap((object) => {
    const key = objectKey(object);
    const ownership = ownershipOf(live.get(key), owner, extensionExists);
    if (ownership.kind !== "foreign") return [];
    const { message } = ownership;
    const other = ownership.owner === owner.name ? undefined : ownership.owner;
    return released.has(key) && other === undefined ? [] : [{ object, message, owner: other }];
  });
}

/**
 * Refuses objects that are somebody else's and stay so, and kinds that are defined already. What is waited for is the object that an uninstallation of all
 * of them would remove last: one request for its metadata each time; without any, the kinds.
 * @returns what other extensions own and will give up, since they aim at a release without it.
 * @throws WaitingError Retrying with every conflict at once.
 */
export async function requireUnclaimed(
  client: Pick<Client, "raw" | "get">,
  request: ConflictRequest & { handovers: Pick<Handovers, "excludes"> },
  signal: AbortSignal,
): Promise<Need[]> {
  const { owner, extensionExists, handovers } = request;
  const foreign = foreignObjects(request);
  const isGiven = ({ object, owner: other }: ForeignObject): boolean => other !== undefined && handovers.excludes(other, object);
  const refused = foreign.filter((one) => !isGiven(one));
  const kinds = await kindConflicts(client, request, signal);
  const messages = [...refused.map(({ message }) => message), ...kinds];
  if (messages.length === 0) return foreign.flatMap(({ object, owner: other }) => (other === undefined ? [] : [{ object, owner: other }]));
  const last = uninstallOrder(refused.map(({ object }) => object)).at(-1);
  const isFree: IsOver = async (until) => {
    if (!last || refused.every(isGiven)) return true;
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
