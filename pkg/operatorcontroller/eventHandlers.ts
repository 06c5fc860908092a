import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { COLLECTOR_FINALIZERS } from "../api/constants.ts";
import { mayTrust } from "../certificates/caBundle.ts";
import type { Informer, StoreEvent } from "../controller/informer.ts";
import type { KeyedTimers, Priority } from "../controller/workQueue.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { mayHaveHealth } from "../release/health/health.ts";
import { compileSelector } from "../resolve/labelSelector.ts";
import { type CatalogPackages, findAffectedExtensions, isSettled } from "./catalogs/catalogPackages.ts";
import type { Dependencies } from "./dependencies/dependencies.ts";
import type { ClusterUpgradeGate } from "./openshift/clusterUpgradeGate.ts";
import type { OperatorControllerOptions } from "./operatorControllerOptions.ts";
import type { ExtensionCache } from "./state/extensionCache.ts";
import type { ObjectWatches } from "./watches/objectWatches.ts";
import type { ChangedCondition, OperatorConditions } from "./watches/operatorConditions.ts";

/** Returns the fields of a catalog, other than its content, that affect a resolution, as one string. */
function describeSettings({ spec, status, metadata }: ClusterCatalog): string {
  return encodeCanonicalJson([
    metadata.labels ?? {},
    spec.priority ?? 0,
    spec.availabilityMode ?? "Available",
    status?.urls?.base ?? "",
    findCondition(status?.conditions, "Serving")?.status ?? "",
  ]);
}

/** Returns the digest reference of a catalog's content; undefined if it has not been unpacked. */
export function getContentRef(catalog: ClusterCatalog | undefined): string | undefined {
  return catalog?.status?.resolvedSource?.image?.ref;
}

/** Reports whether the content of a catalog is the only change, if anything has changed. */
function isContentChange(after: ClusterCatalog | undefined, before: ClusterCatalog | undefined): after is ClusterCatalog {
  return after !== undefined && before !== undefined && describeSettings(after) === describeSettings(before);
}

/**
 * Returns the extensions whose resolution a change of one catalog can affect: their selector matches its labels before or after the change.
 * Returns none if only other fields have changed, such as the message of a condition.
 */
export function findExtensionsToResolve(
  extensions: readonly ClusterExtension[],
  after: ClusterCatalog | undefined,
  before: ClusterCatalog | undefined,
): ClusterExtension[] {
  if (isContentChange(after, before) && getContentRef(after) === getContentRef(before)) return [];
  const labels = [before, after].flatMap((catalog) => (catalog ? [catalog.metadata.labels ?? {}] : []));
  return extensions.filter((extension) => labels.some(compileSelector(extension.spec?.source?.catalog?.selector).matches));
}

/** Reports whether an update of an extension requires a reconcile: a change of spec or relevant metadata, or a deletion, but not of status. */
export function needsReconcile(after: ClusterExtension, before: ClusterExtension | undefined): boolean {
  if (!before) return true;
  const input = ({ metadata }: ClusterExtension): string =>
    encodeCanonicalJson([
      metadata.uid,
      metadata.generation ?? 0,
      metadata.deletionTimestamp ?? "",
      metadata.annotations ?? {},
      metadata.labels ?? {},
      (metadata.finalizers ?? []).some((finalizer) => COLLECTOR_FINALIZERS.includes(finalizer)),
    ]);
  return (
    input(after) !== input(before) ||
    (after.metadata.deletionTimestamp !== undefined && after.metadata.finalizers?.length !== before.metadata.finalizers?.length)
  );
}

/**
 * Returns the priority of a reconcile that the extension itself does not require, because the controller has started or something else has changed: an
 * extension that is installed as specified waits for those with a change, a failure or a deletion.
 */
export function getPriority(extension: ClusterExtension | undefined): Priority {
  return extension && isSettled(extension) && extension.metadata.deletionTimestamp === undefined ? "low" : "normal";
}

/** The sources of events, and the functions that handle them. */
export interface EventHandlerParts extends Pick<OperatorControllerOptions, "clusterVersion"> {
  clusterProxy: OperatorControllerOptions["clusterProxy"] | undefined;
  operatorConditions: Pick<OperatorConditions, "onChange">;
  extensions: Informer<ClusterExtension>;
  catalogs: Informer<ClusterCatalog>;
  contents: CatalogPackages;
  dependencies: Pick<Dependencies, "choice" | "indexes">;
  watches: ObjectWatches;
  memory: ExtensionCache;
  gate: ClusterUpgradeGate;
  certificateTimers: KeyedTimers;
  /** Enqueues an extension, by default with normal priority. */
  enqueue: (extension: string, priority?: Priority) => void;
  /** Schedules a health check of an extension. */
  healthChanged: (extension: string) => void;
}

/**
 * Enqueues extensions when an object changes that they may depend on:
 *
 * | change of                               | enqueues                                                                         |
 * | an extension                            | it, if `needsReconcile`                                                               |
 * | an object of an extension               | the extension, if its health or certificates depend on such objects              |
 * | a catalog's labels, priority or address | the extensions that select the catalog                                           |
 * | a catalog's content                     | those of them whose package changes, and those that wait for dependencies        |
 * | the cluster's version or proxy          | all extensions                                                                   |
 * | the report in an OperatorCondition      | the extension of the operator                                                    |
 * | whether OperatorConditions are served   | all extensions                                                                   |
 *
 * @see getPriority
 */
export function enqueueOnChanges(parts: EventHandlerParts): void {
  const { extensions, catalogs, watches, memory, certificateTimers, clusterVersion, clusterProxy, enqueue } = parts;
  watches.onObjectEvent(({ extension, ref }) => {
    if (mayHaveHealth(ref)) parts.healthChanged(extension);
    const dueMs = mayTrust(ref) ? memory.certificatesChanged(extension, Date.now()) : undefined;
    if (dueMs !== undefined) certificateTimers.set(extension, dueMs);
  });
  extensions.onEvent((event) => {
    const { type, object, old } = event;
    if (type === "add") enqueue(object.metadata.name, getPriority(object));
    else if (type === "delete" || needsReconcile(object, old)) enqueue(object.metadata.name);
  });
  catalogs.onEvent((event) => handleCatalogEvent(parts, event));
  const enqueueAll = (): void => {
    for (const extension of extensions.list()) enqueue(extension.metadata.name, getPriority(extension));
  };
  clusterVersion.onChange(enqueueAll);
  clusterProxy?.onChange(enqueueAll);
  parts.operatorConditions.onChange((changed) => {
    if (!changed) enqueueAll();
    else for (const extension of extensions.list()) if (hasOperatorCondition(extension, changed)) enqueue(extension.metadata.name);
  });
}

/** Reports whether an OperatorCondition belongs to the operator of an extension: by its label, or by its name if OLM v0 created it. */
function hasOperatorCondition(extension: ClusterExtension, { namespace, name, extension: owner }: ChangedCondition): boolean {
  if (owner !== undefined) return owner === extension.metadata.name;
  return extension.status?.install?.bundle.name === name && extension.status.install.namespace === namespace;
}

function handleCatalogEvent(
  { extensions, contents, dependencies, gate, enqueue }: EventHandlerParts,
  event: StoreEvent<ClusterCatalog>,
): void {
  if (event.type === "delete") {
    contents.forget(event.object.metadata.name);
    dependencies.indexes.forget(event.object.metadata.name);
  }
  const after = event.type === "delete" ? undefined : event.object;
  const before = event.type === "delete" ? event.object : event.old;
  const affected = findExtensionsToResolve(extensions.list(), after, before);
  // These extensions may wait for other packages in the catalog.
  for (const { metadata } of affected) if (dependencies.choice.waiting.has(metadata.name)) enqueue(metadata.name);
  const enqueueAffected = (name: string): void => enqueue(name, getPriority(extensions.get(name)));
  if (!isContentChange(after, before)) for (const { metadata } of affected) enqueueAffected(metadata.name);
  else void findAffectedExtensions({ catalog: after, before: getContentRef(before) }, affected, contents, enqueueAffected);
  if (affected.length > 0) gate.remediesChanged();
}
