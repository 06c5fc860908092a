import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { EventSink } from "../../api/events.ts";
import type { Informer } from "../../controller/informer.ts";
import { Story } from "../../controller/story.ts";
import type { Client } from "../../kube/client.ts";
import type { CertificateProviders } from "../apply/certificateProviders.ts";
import type { BundleCache } from "../bundles/bundleCache.ts";
import type { BundleImageSource } from "../bundles/bundleImages.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { ClusterApis } from "../dependencies/clusterApis.ts";
import type { Dependencies } from "../dependencies/dependencies.ts";
import type { Identities } from "../permissions/identity.ts";
import type { ReleaseStore } from "../releases/releaseStore.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import type { Applied, Phase, Started } from "../state/phases.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import type { SourceWatches } from "../watches/sourceWatches.ts";
import { applyBundle, correctDrift } from "./apply.ts";
import { checkBundle, checkClusterVersion, checkRequirements, reportProxy, requireSpec, skipSuspended, validate } from "./check.ts";
import { readConfiguration } from "./configuration.ts";
import { handleDeletion } from "./delete.ts";
import { checkDependencies, installDependencies } from "./dependencies.ts";
import { ensureFinalizer, removeCollectorFinalizers } from "./finalizers.ts";
import { pinInstalledImage } from "./pinInstalledImage.ts";
import { resolveBundle, trackUnavailableCatalogs } from "./resolve.ts";
import { retrieveReleases } from "./retrieveReleases.ts";
import { pinRevision, type RollbackDependencies, skipRolledBackBundle } from "./rollback.ts";
import { unpackBundle } from "./unpack.ts";

/** What the steps of a pass work with. */
export interface StepParts {
  client: Client;
  images: BundleImageSource;
  bundles: BundleCache;
  providers: CertificateProviders;
  catalogs: Pick<Informer<ClusterCatalog>, "get" | "list">;
  contents: CatalogPackages;
  events: EventSink;
  identities: Identities;
  memory: ExtensionCache;
  releases: ReleaseStore;
  watches: ObjectWatches;
  sources: SourceWatches;
  apis: ClusterApis;
  dependencies: Pick<Dependencies, "choice" | "made" | "dependents">;
  /** For the steps that change what is on the cluster. */
  applying: RollbackDependencies;
  /** Makes a pass over an extension after so many milliseconds. */
  comeBack: (extension: string, afterMs: number) => void;
  /** Drops all that is remembered of an extension that is gone. */
  forget: (extension: string) => Promise<void>;
}

/** The reconcile of one extension: its steps, in their order, and the phases that they lead through. */
export function reconcileSteps(parts: StepParts): Story<Started, Applied, Phase> {
  const { client, images, bundles, providers, catalogs, contents, events, identities, memory, releases } = parts;
  const { watches, sources, apis, applying, comeBack, forget } = parts;
  const { choice, made, dependents } = parts.dependencies;
  return Story.from<Started, Phase>()
    .step(handleDeletion({ client, identities, releases, events, memory, dependents, dependencies: made, forget }))
    .step(removeCollectorFinalizers(client, events))
    .step(requireSpec)
    .step(retrieveReleases({ releases, memory }))
    .step(skipSuspended([watches, sources]))
    .step(ensureFinalizer(client))
    .step(validate(identities))
    .step(correctDrift(applying))
    .step(pinRevision(releases))
    .step(resolveBundle({ catalogs, contents, dependencies: choice }))
    .step(trackUnavailableCatalogs(memory))
    .step(pinInstalledImage(events, memory))
    .step(readConfiguration({ watches: sources, driftIntervalMs: applying.driftIntervalMs }))
    .step(skipRolledBackBundle({ ...applying, comeBack }))
    .step(unpackBundle({ images, bundles, providers }))
    .step(checkBundle(events, memory))
    .step(reportProxy)
    .step(checkClusterVersion)
    .step(checkRequirements({ apis, events, memory }))
    .step(installDependencies(made))
    .step(checkDependencies(choice))
    .step(applyBundle(applying));
}
