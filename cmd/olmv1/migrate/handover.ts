import type { ConvertedObject } from "../../../pkg/migrate/objectConversion.ts";
import {
  conversionPatch,
  isDetached,
  isGiven,
  isOfCsv,
  type MarkedBy,
  markingPatch,
  marksOn,
  type RemovedMarks,
} from "../../../pkg/migrate/ownershipMarks.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { ObjectOwner } from "../../../pkg/release/labels.ts";
import { readOrNone } from "./classicCluster.ts";
import { patchLive } from "./marking.ts";

/** What a ClusterServiceVersion's objects carry of OLM classic, as they are now; those that are still to be made are left out. */
export async function marksToRemove(
  client: Client,
  objects: readonly ConvertedObject[],
  csv: MarkedBy,
  signal: AbortSignal,
): Promise<RemovedMarks[]> {
  const marks: RemovedMarks[] = [];
  for (const { ref, action } of objects) {
    signal.throwIfAborted();
    if (action === "create") continue;
    const live = await readOrNone(client, ref);
    if (live && isOfCsv(live, csv)) marks.push(marksOn(live, csv, action !== "leave"));
  }
  return marks;
}

/** Takes the marks off and gives each object to the extension, or marks it as left over; what is so already stays. */
export async function handOver(
  client: Client,
  marks: readonly RemovedMarks[],
  { csv, owner, signal }: { csv: MarkedBy; owner: ObjectOwner; signal: AbortSignal },
): Promise<void> {
  for (const one of marks) {
    signal.throwIfAborted();
    await patchLive(client, one.ref, (live) => {
      if (live.metadata.uid !== one.uid && !isOfCsv(live, csv)) return undefined;
      return isGiven(live, owner) && isDetached(live, csv) ? undefined : markingPatch(live, one, csv, owner);
    });
  }
}

/** Switches conversions of versions on again that OLM classic has switched off: meanwhile the API server gives out versions as if they were one. */
export async function keepConverting(client: Client, marks: readonly RemovedMarks[]): Promise<void> {
  for (const one of marks) if (one.conversion) await patchLive(client, one.ref, (live) => conversionPatch(live, one));
}
