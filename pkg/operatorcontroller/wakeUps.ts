import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { mayTrust } from "../certificates/caBundle.ts";
import type { Informer, StoreEvent } from "../controller/informer.ts";
import type { KeyedTimers } from "../controller/workQueue.ts";
import { mayHaveHealth } from "../release/health/health.ts";
import type { CatalogContents } from "./catalogs/catalogContents.ts";
import { findConcerned } from "./catalogs/newEdition.ts";
import type { ClusterUpgradeGate } from "./clusterupgrade/clusterUpgradeGate.ts";
import type { Dependencies } from "./dependencies/dependencies.ts";
import type { ExtensionMemory } from "./memory.ts";
import type { OperatorControllerOptions } from "./operatorControllerOptions.ts";
import { contentRef, extensionsToResolve, isNewEdition, needsPass } from "./triggers.ts";
import type { ObjectWatches } from "./watches/objectWatches.ts";

/** What tells of changes, and what is to hear of them. */
export interface WakeUpParts extends Pick<OperatorControllerOptions, "clusterVersion"> {
  clusterProxy: OperatorControllerOptions["clusterProxy"] | undefined;
  extensions: Informer<ClusterExtension>;
  catalogs: Informer<ClusterCatalog>;
  contents: CatalogContents;
  dependencies: Pick<Dependencies, "choice" | "offers">;
  watches: ObjectWatches;
  memory: ExtensionMemory;
  gate: ClusterUpgradeGate;
  certificateAlarms: KeyedTimers;
  /** Makes a pass over an extension. */
  wake: (extension: string) => void;
  /** Makes the health of an extension be read again soon. */
  healthChanged: (extension: string) => void;
}

/**
 * Makes passes over extensions when something changes that they may depend on:
 *
 * | change                                     | passes over                                                   |
 * | of an extension                            | it, where `needsPass`                                         |
 * | of an object of an extension               | it, where health or certificates depend on such objects       |
 * | of a catalog's labels, priority or address | the extensions that select it                                 |
 * | of a catalog's content                     | those of them whose package it changes, and those that wait for dependencies |
 * | of the cluster's version or proxy          | all                                                           |
 */
export function wakeOnChanges(parts: WakeUpParts): void {
  const { extensions, catalogs, watches, memory, certificateAlarms, clusterVersion, clusterProxy, wake } = parts;
  watches.onObjectEvent(({ extension, ref }) => {
    if (mayHaveHealth(ref)) parts.healthChanged(extension);
    const dueMs = mayTrust(ref) ? memory.certificatesChanged(extension, Date.now()) : undefined;
    if (dueMs !== undefined) certificateAlarms.set(extension, dueMs);
  });
  extensions.onEvent((event) => {
    if (event.type === "delete" || needsPass(event.object, event.old)) wake(event.object.metadata.name);
  });
  catalogs.onEvent((event) => catalogChanged(parts, event));
  const wakeAll = (): void => {
    for (const { metadata } of extensions.list()) wake(metadata.name);
  };
  clusterVersion.onChange(wakeAll);
  clusterProxy?.onChange(wakeAll);
}

function catalogChanged({ extensions, contents, dependencies, gate, wake }: WakeUpParts, event: StoreEvent<ClusterCatalog>): void {
  if (event.type === "delete") {
    contents.forget(event.object.metadata.name);
    dependencies.offers.forget(event.object.metadata.name);
  }
  const after = event.type === "delete" ? undefined : event.object;
  const before = event.type === "delete" ? event.object : event.old;
  const affected = extensionsToResolve(extensions.list(), after, before);
  // What a catalog says of other packages may be what these wait for.
  for (const { metadata } of affected) if (dependencies.choice.waiting.has(metadata.name)) wake(metadata.name);
  if (!isNewEdition(after, before)) for (const { metadata } of affected) wake(metadata.name);
  else void findConcerned({ catalog: after, before: contentRef(before) }, affected, contents, wake);
  if (affected.length > 0) gate.remediesChanged();
}
