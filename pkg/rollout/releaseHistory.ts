import { isDeepStrictEqual } from "node:util";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../api/constants.ts";
import { mapInParallel } from "../async/concurrency.ts";
import type { Client } from "../kube/client.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { findLastDeployed, type ReleaseRecord, sortNewestFirst } from "../release/record.ts";
import { formatUnreadable } from "../release/storage/decode.ts";

/** A release of an extension, as users see it. */
export interface ReleaseRow {
  /** 0 if the Secret does not contain a number. */
  readonly revision: number;
  /** Helm's status, or "unreadable"; in this case, `description` contains the Secret and the reason. */
  readonly status: string;
  readonly bundle: string;
  readonly version: string;
  /** RFC 3339; empty if unknown. */
  readonly deployed: string;
  readonly description: string;
  /** Whether the extension is pinned to this revision. */
  readonly pinned: boolean;
  /** Whether this is the last deployed revision. */
  readonly current: boolean;
  /** Who or what caused the revision; empty if unknown. */
  readonly cause: string;
}

/** Concurrent reads. */
const PARALLEL = 4;

/** Returns the releases of an extension, unreadable ones first, then newest first. @throws KubeError if the Secrets of the system namespace cannot be read. */
export async function readReleaseRows(client: Client, extension: ClusterExtension, systemNamespace: string): Promise<ReleaseRow[]> {
  const { annotations = {} } = extension.metadata;
  const releases = new ReadOnlyReleases(client, systemNamespace);
  const { current, older, unreadable } = await releases.history(extension);
  const before = await mapInParallel(older, PARALLEL, ({ version }) => releases.read(extension, version));
  const records = [...current, ...before.flatMap((release) => (release?.kind === "readable" ? [release.record] : []))];
  const damaged = [...unreadable, ...before.filter((release) => release?.kind === "unreadable")];
  const texts = [...new Set(damaged.map(formatUnreadable))];
  const sorted = sortNewestFirst(records);
  const state = { current: findLastDeployed(records)?.version, pinned: annotations[ANNOTATION_ROLLBACK_TO] };
  return [...texts.map(unreadableRow), ...sorted.map((record, i) => toRow(record, sorted[i + 1], state))];
}

function unreadableRow(description: string): ReleaseRow {
  return {
    revision: 0,
    status: "unreadable",
    bundle: "",
    version: "",
    deployed: "",
    description,
    pinned: false,
    current: false,
    cause: "",
  };
}

function toRow(
  record: ReleaseRecord,
  before: ReleaseRecord | undefined,
  { current, pinned }: { current: number | undefined; pinned: string | undefined },
): ReleaseRow {
  const { version, status, labels, lastDeployed: deployed, description } = record;
  return {
    revision: version,
    status,
    bundle: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    deployed,
    description,
    pinned: pinned === String(version),
    current: current === version,
    cause: findCause(record, before),
  };
}

/**
 * Returns who or what caused a release: a rollback, a spec change, or a new bundle in the catalog. Pure.
 * @param before the previous release, if it is still stored
 */
export function findCause(record: ReleaseRecord, before: ReleaseRecord | undefined): string {
  const { version, rolledBack, pinnedTo, takenOver, generation, changedBy, labels, proxy } = record;
  const by = changedBy === undefined ? "" : ` by ${changedBy}`;
  if (rolledBack) return `automatic rollback of revision ${rolledBack.release}`;
  if (pinnedTo !== undefined) return `rollback to revision ${pinnedTo}${by}`;
  if (takenOver) return "takeover from another operator-controller";
  if (version === 1) return `install${by}`;
  if (generation === undefined || before?.generation === undefined) return "";
  if (before.pinnedTo !== undefined && generation === before.generation) return "removed pin";
  if (generation !== before.generation) return `spec change${by}`;
  if (labels[LABEL_BUNDLE_NAME] !== before.labels[LABEL_BUNDLE_NAME]) return "new bundle in the catalog";
  return isDeepStrictEqual(proxy, before.proxy) ? "values or controller change" : "cluster proxy change";
}
