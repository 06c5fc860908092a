import type { ClusterExtension } from "../api/clusterExtension.ts";
import { getGroup, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { findProblem, type ProblemObject } from "../api/problems.ts";
import { mapInParallel } from "../async/concurrency.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { formatFieldValue, parseDiffPath } from "../release/diff.ts";
import { type DriftPolicy, getDriftPolicy, type IgnoreRule, toIndexes, truncateToKeyed } from "../release/drift.ts";
import { getObjectKey } from "../release/identity.ts";
import { formatJsonPointer, getValueAt } from "../release/jsonPointer.ts";
import { findOtherManagers } from "../release/managedFields.ts";
import { findLastDeployed, type ReleaseRecord } from "../release/record.ts";
import { HiddenTexts } from "../render/redaction.ts";
import { parseInventoryRef } from "./inventory.ts";

const PARALLEL = 4;

/** A field that differs from the release. */
interface ReportedField {
  /** Such as `spec.ports[name=metrics].port`. */
  readonly path: string;
  /** The field managers that own the live value, except the controller; empty if it has no other owner or the owners are unknown. */
  readonly managers: readonly string[];
  /** Values as JSON of at most 200 characters; masked for Secrets. Absent if the field is absent or may not be read. */
  readonly live?: string;
  readonly released?: string;
  /** JSON pointer for spec.drift.ignore; absent if it is unknown. */
  readonly pointer?: string;
}

/** An object whose drift the controller reports and does not correct. */
export interface ReportedDrift {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** `changed` or `deleted`. */
  readonly what: string;
  readonly fields: readonly ReportedField[];
  /** Whether the live object and the object of the release were read; otherwise, their values are unknown. */
  readonly hasLive: boolean;
  readonly hasReleased: boolean;
}

/** The drift of an extension. */
export interface DriftReport {
  readonly policy: DriftPolicy;
  readonly objects: readonly ReportedDrift[];
  /** Rules that make the controller ignore the reported fields. */
  readonly ignore: readonly IgnoreRule[];
  /** Why the controller cannot watch some objects; undefined if it watches all. */
  readonly unwatched: string | undefined;
}

/**
 * Reads the uncorrected drift that the status reports. Includes the values and field managers of the drifted fields if the user may read them.
 * Empty with policy Correct, because the controller corrects drift at once.
 */
export async function readDriftReport(client: Client, extension: ClusterExtension, systemNamespace: string): Promise<DriftReport> {
  const { spec, status } = extension;
  const found = findProblem(status, "DriftDetected")?.details?.objects ?? [];
  const release = found.length > 0 ? await readDeployed(client, extension, systemNamespace) : undefined;
  const inventory = (status?.inventory?.objects ?? []).map(parseInventoryRef);
  const hidden = new HiddenTexts(release?.sourced ?? []);
  const objects = await mapInParallel(found, PARALLEL, async (object) => {
    const ref = inventory.find((one) => isSame(one, object)) ?? release?.objects.map(toRef).find((one) => isSame(one, object));
    const released = ref && release?.objects.find((one) => getObjectKey(one) === getObjectKey(ref));
    const live = ref && (await client.get(ref).catch(ignoreDenied));
    return describeDrift(object, { live, released, hidden });
  });
  return {
    policy: getDriftPolicy(spec, release ?? {}),
    objects,
    ignore: objects.flatMap(toIgnoreRule),
    unwatched: findProblem(status, "DriftUnwatched")?.message,
  };
}

async function readDeployed(client: Client, extension: ClusterExtension, system: string): Promise<ReleaseRecord | undefined> {
  const history = await new ReadOnlyReleases(client, system).history(extension).catch(ignoreDenied);
  return history && findLastDeployed(history.current);
}

function ignoreDenied(err: unknown): undefined {
  if (!isForbidden(err)) throw err;
  return undefined;
}

function toRef({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { apiVersion, kind, name, namespace };
}

function isSame(ref: ObjectRef, { group = "", kind, namespace, name }: ProblemObject): boolean {
  return getGroup(ref.apiVersion) === group && ref.kind === kind && (ref.namespace ?? "") === (namespace ?? "") && ref.name === name;
}

function describeDrift(
  { group = "", kind, namespace, name = "", message = "changed", fields = [] }: ProblemObject,
  states: { readonly live: KubeObject | undefined; readonly released: KubeObject | undefined; readonly hidden: HiddenTexts },
): ReportedDrift {
  return {
    group,
    kind,
    namespace,
    name,
    what: message,
    fields: fields.map((path) => describeField(path, states)),
    hasLive: states.live !== undefined,
    hasReleased: states.released !== undefined,
  };
}

function describeField(
  path: string,
  {
    live,
    released,
    hidden,
  }: { readonly live: KubeObject | undefined; readonly released: KubeObject | undefined; readonly hidden: HiddenTexts },
): ReportedField {
  const steps = parseDiffPath(path);
  if (!steps) return { path, managers: [] };
  const format = (object: KubeObject | undefined): string | undefined =>
    object && formatFieldValue(object, hidden.hideIn(getValueAt(object, toIndexes(object, steps))));
  const [is, was] = [format(live), format(released)];
  const keyed = truncateToKeyed(steps);
  return {
    path,
    managers: live ? findOtherManagers(live, toIndexes(live, steps)) : [],
    ...(is === undefined ? {} : { live: is }),
    ...(was === undefined ? {} : { released: was }),
    ...(released ? { pointer: formatJsonPointer(toIndexes(released, keyed)) } : {}),
  };
}

/** Maximum number of paths in a rule. */
const PATHS_MAX = 16;

function toIgnoreRule({ group, kind, namespace, name, fields }: ReportedDrift): IgnoreRule[] {
  const paths = [...new Set(fields.flatMap(({ pointer }) => pointer ?? []))].slice(0, PATHS_MAX);
  return paths.length === 0 ? [] : [{ target: { group, kind, ...(namespace ? { namespace } : {}), name }, paths }];
}
