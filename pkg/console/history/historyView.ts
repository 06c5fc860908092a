import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ExtensionHistory, Revision, RevisionComparison } from "../../consoleapi/history.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import { type OfferedAction, PLAN_OBJECTS_SHOWN } from "../../consoleapi/plan.ts";
import { toYaml } from "../../golang/yaml.ts";
import { isMinorField } from "../../preview/minorFields.ts";
import type { PlannedAction, PlannedObject } from "../../release/changePlan.ts";
import { findPin } from "../../rollout/changes.ts";
import type { DriftReport, ReportedDrift } from "../../rollout/driftReport.ts";
import type { ReleaseComparison } from "../../rollout/releaseComparison.ts";
import type { ReleaseRow } from "../../rollout/releaseHistory.ts";
import { toSentence } from "../../text/sentence.ts";
import { truncate } from "../../text/truncate.ts";
import { DRIFT_EFFECTS } from "../actions/extensionChanges.ts";

type Releases = Exclude<ExtensionHistory["releases"], { error: string }>;
type Drift = Extract<ExtensionHistory["drift"], { objects: unknown }>;

const LIST_MAX = 100;
const TEXT_MAX = 1_000;
const MOODS: Readonly<Record<string, NonNullable<MoodText["mood"]>>> = { deployed: "good", superseded: "faint", failed: "bad" };
/** Releases that were applied completely, so that a rollback can restore them. */
const COMPLETE: ReadonlySet<string> = new Set(["deployed", "superseded"]);

/** What the releases are described for. */
export interface ReleaseListOptions {
  /** Whether the OLM of the cluster supports rollbacks. */
  readonly canRollBack: boolean;
  /** The namespace of the release Secrets. */
  readonly systemNamespace: string;
}

/** Describes the releases of an extension. */
export function buildReleases(
  rows: readonly ReleaseRow[],
  extension: Pick<ClusterExtension, "metadata" | "status">,
  { canRollBack, systemNamespace }: ReleaseListOptions,
): Releases {
  const { name } = extension.metadata;
  const bundle = extension.status?.install?.bundle.name;
  const pin = findPin(extension);
  const readable = rows.filter(({ revision }) => revision > 0);
  return {
    revisions: readable.map((row) => toRevision(row, name, canRollBack)),
    ...(rows.length === 0 && bundle !== undefined
      ? { note: `Bundle ${bundle} is installed, but namespace ${systemNamespace} contains no release of it.` }
      : {}),
    unreadable: rows.filter(({ revision }) => revision === 0).map(({ description }) => truncate(description, TEXT_MAX)),
    ...(pin === undefined || !canRollBack ? {} : { pin, removePin: offerUnpin(name) }),
    command: `olmv1 history ${name}`,
  };
}

function toRevision(
  { revision, status, bundle, version, deployed, description, pinned, current, cause }: ReleaseRow,
  extension: string,
  canRollBack: boolean,
): Revision {
  const mood = MOODS[status] ?? (status.startsWith("pending-") ? "warning" : undefined);
  return {
    revision,
    state: mood ? { text: status, mood } : { text: status },
    version,
    bundle,
    ...(deployed === "" ? {} : { deployed }),
    ...(cause === "" ? {} : { cause: toSentence(cause) }),
    description: truncate(description, TEXT_MAX),
    isCurrent: current,
    isPinned: pinned,
    ...(canRollBack && COMPLETE.has(status) && !current ? { rollBack: offerRollback(extension, revision) } : {}),
  };
}

function offerRollback(extension: string, revision: number): OfferedAction {
  return {
    label: `Roll back to revision ${revision}`,
    meaning: "The controller restores the objects of the revision and stays on it until you remove the pin.",
    request: { action: "rollBack", extension, revision },
  };
}

function offerUnpin(extension: string): OfferedAction {
  return {
    label: "Remove the pin",
    meaning: "The extension follows its catalogs again.",
    request: { action: "removePin", extension },
  };
}

const POLICY_LABELS = { Correct: "Correct the drift", Warn: "Only report drift", Ignore: "Do not detect drift" } as const;
const POLICIES = ["Correct", "Warn", "Ignore"] as const;

/** Describes the drift of an extension, and how to correct or to keep it. */
export function buildDrift(
  { policy: { policy, isTakenOver }, objects, ignore, unwatched }: DriftReport,
  { metadata, spec }: ClusterExtension,
): Drift {
  const rules = [...(spec.drift?.ignore ?? []), ...ignore];
  return {
    policy,
    meaning: isTakenOver
      ? "The controller reports drift, because another operator-controller installed the extension. It corrects drift after the first upgrade."
      : DRIFT_EFFECTS[policy],
    objects: objects.slice(0, LIST_MAX).map(toDriftedObject),
    ...(unwatched === undefined ? {} : { unwatched: toSentence(unwatched) }),
    offers: POLICIES.filter((other) => other !== policy).map((other) => ({
      label: POLICY_LABELS[other],
      meaning: DRIFT_EFFECTS[other],
      request: { action: "setDriftPolicy", extension: metadata.name, policy: other },
    })),
    ...(ignore.length > 0 ? { ignore: toYaml({ spec: { drift: { ...spec.drift, ignore: rules } } }) } : {}),
  };
}

function toDriftedObject({ kind, namespace, name, what, fields, hasLive, hasReleased }: ReportedDrift): Drift["objects"][number] {
  return {
    kind,
    ...(namespace ? { namespace } : {}),
    name,
    what: truncate(what, TEXT_MAX),
    fields: fields.slice(0, LIST_MAX).map(({ path, managers, live, released }) => ({
      path,
      managers: [...managers],
      ...(live === undefined ? {} : { live }),
      ...(released === undefined ? {} : { released }),
    })),
    hasLive,
    hasReleased,
  };
}

/** Describes the difference between two releases. */
export function buildComparison({ from, to, objects }: ReleaseComparison): RevisionComparison {
  const count = (action: PlannedAction): number => objects.filter((one) => one.action === action).length;
  return {
    from,
    to,
    counts: { create: count("Create"), update: count("Update"), delete: count("Delete"), unchanged: count("Unchanged") },
    objects: objects.slice(0, PLAN_OBJECTS_SHOWN).map(toObjectChangeRow),
    omittedObjects: Math.max(objects.length - PLAN_OBJECTS_SHOWN, 0),
  };
}

function toObjectChangeRow({ action, ref, changes, more, widens }: PlannedObject): RevisionComparison["objects"][number] {
  const { apiVersion, kind, namespace, name } = ref;
  return {
    action,
    apiVersion,
    kind,
    ...(namespace ? { namespace } : {}),
    name,
    widens,
    refused: false,
    fields: changes.map((change) => ({ ...change, isMinor: isMinorField(change.path) })),
    more,
  };
}
