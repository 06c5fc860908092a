import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_REFERENCE } from "../api/constants.ts";
import type { Client } from "../kube/client.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { getRecord, requireReadable } from "../operatorcontroller/releases/releaseStore.ts";
import { findPreviousRevision, requireRevision } from "../release/record.ts";

/** The release that a rollback restores. */
export interface RollbackTarget {
  readonly revision: number;
  /** Name of the bundle, if the release contains it. */
  readonly bundle: string | undefined;
  /** Image of the bundle, if the release contains it. */
  readonly image: string | undefined;
}

/**
 * Reads the release that a rollback restores.
 * @param desired a revision; default: the one before the deployed one
 * @throws Error with the available revisions if the revision is not available, or if a release cannot be read
 */
export async function readRollbackTarget(
  client: Client,
  extension: ClusterExtension,
  systemNamespace: string,
  desired?: number,
): Promise<RollbackTarget> {
  const releases = new ReadOnlyReleases(client, systemNamespace);
  const history = await releases.history(extension);
  requireReadable(history, "cannot roll back: ");
  const { current, older } = history;
  const summaries = [...current, ...older];
  const revision = desired ?? findPreviousRevision(summaries);
  requireRevision(summaries, revision);
  const record = current.find(({ version }) => version === revision) ?? getRecord(await releases.read(extension, revision));
  const { [LABEL_BUNDLE_NAME]: bundle, [LABEL_BUNDLE_REFERENCE]: image } = record?.labels ?? {};
  return { revision, bundle, image };
}
