import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../api/constants.ts";
import type { Client } from "../kube/client.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { getRecord } from "../operatorcontroller/releases/releaseStore.ts";
import { widensPermissions } from "../rbac/ruleSets.ts";
import { computeChangePlan, type PlannedObject } from "../release/changePlan.ts";
import { getObjectKey } from "../release/identity.ts";
import type { ReleaseRecord } from "../release/record.ts";
import { HiddenTexts } from "../render/redaction.ts";

/** A compared release. */
interface ComparedRelease {
  readonly revision: number;
  readonly bundle: string;
  readonly version: string;
}

/** The difference between the objects of two releases. */
export interface ReleaseComparison {
  readonly from: ComparedRelease;
  readonly to: ComparedRelease;
  /** Changed objects first. Values of Secrets, and those from spec.config.valuesFrom, are hidden. */
  readonly objects: readonly PlannedObject[];
}

/**
 * Compares the objects of two releases of an extension, as they were rendered. The state of the cluster does not matter.
 * @returns the number of a revision that is not stored
 * @throws ReleaseUnreadable if a release cannot be read; KubeError if its Secret cannot be read
 */
export async function compareReleases(
  client: Client,
  extension: ClusterExtension,
  systemNamespace: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ReleaseComparison | number> {
  const releases = new ReadOnlyReleases(client, systemNamespace);
  const [before, after] = await Promise.all([from, to].map(async (revision) => getRecord(await releases.read(extension, revision))));
  if (!before) return from;
  return after ? compareRecords(before, after) : to;
}

/** Compares the objects of two releases. */
export function compareRecords(before: ReleaseRecord, after: ReleaseRecord): ReleaseComparison {
  const kept = new Set(after.objects.map(getObjectKey));
  const { objects } = computeChangePlan({
    digest: "",
    desired: after.objects,
    live: new Map(before.objects.map((object) => [getObjectKey(object), object])),
    after: new Map(),
    leaving: before.objects.filter((object) => !kept.has(getObjectKey(object))),
    widens: widensPermissions,
    hidden: new HiddenTexts([...(before.sourced ?? []), ...(after.sourced ?? [])]),
  });
  return { from: describe(before), to: describe(after), objects };
}

function describe({ version, labels }: ReleaseRecord): ComparedRelease {
  return { revision: version, bundle: labels[LABEL_BUNDLE_NAME] ?? "", version: labels[LABEL_BUNDLE_VERSION] ?? "" };
}
