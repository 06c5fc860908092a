import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { EventSink } from "../api/events.ts";
import type { Informer } from "../controller/informer.ts";
import type { Step } from "../controller/reconcile.ts";
import type { Client } from "../kube/client.ts";
import type { BundleCache } from "./bundleCache.ts";
import type { BundleImageSource } from "./bundleImages.ts";
import type { CatalogContents } from "./catalogs/catalogContents.ts";
import type { CertificateProviders } from "./certificates/providerChoice.ts";
import type { Dependencies } from "./dependencies/dependencies.ts";
import type { PassFacts } from "./facts.ts";
import type { ExtensionMemory } from "./memory.ts";
import type { ReleaseStore } from "./releases/releaseStore.ts";
import type { RollbackDependencies } from "./releases/rollback.ts";
import type { Identities } from "./rights/identity.ts";
import type { ClusterApis } from "./served/clusterApis.ts";
import { applyBundle } from "./steps/applyBundle.ts";
import { checkBundle } from "./steps/checkBundle.ts";
import { checkClusterVersion } from "./steps/checkClusterVersion.ts";
import { checkDependencies } from "./steps/checkDependencies.ts";
import { checkRequirements } from "./steps/checkRequirements.ts";
import { correctDrift } from "./steps/correctDrift.ts";
import { ensureFinalizer, removeCollectorFinalizers } from "./steps/ensureFinalizer.ts";
import { handleDeletion } from "./steps/handleDeletion.ts";
import { holdBack } from "./steps/holdBack.ts";
import { holdSuspended } from "./steps/holdSuspended.ts";
import { installDependencies } from "./steps/installDependencies.ts";
import { keepContent } from "./steps/keepContent.ts";
import { lookAgain } from "./steps/lookAgain.ts";
import { pinRelease } from "./steps/pinRelease.ts";
import { readConfiguration } from "./steps/readConfiguration.ts";
import { requireSpec } from "./steps/requireSpec.ts";
import { resolveBundle } from "./steps/resolveBundle.ts";
import { retrieveReleases } from "./steps/retrieveReleases.ts";
import { tellProxy } from "./steps/tellProxy.ts";
import { unpackBundle } from "./steps/unpackBundle.ts";
import { validate } from "./steps/validate.ts";
import type { ObjectWatches } from "./watches/objectWatches.ts";
import type { SourceWatches } from "./watches/sourceWatches.ts";

/** What the steps of a pass work with. */
export interface StepParts {
  client: Client;
  images: BundleImageSource;
  bundles: BundleCache;
  providers: CertificateProviders;
  catalogs: Pick<Informer<ClusterCatalog>, "get" | "list">;
  contents: CatalogContents;
  events: EventSink;
  identities: Identities;
  memory: ExtensionMemory;
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

/** The steps of a pass over one extension, in their order. */
export function reconcileSteps(parts: StepParts): Step<PassFacts["extension"], PassFacts>[] {
  const {
    client,
    images,
    bundles,
    providers,
    catalogs,
    contents,
    events,
    identities,
    memory,
    releases,
    watches,
    sources,
    apis,
    dependencies,
    applying,
  } = parts;
  const { choice, made, dependents } = dependencies;
  return [
    handleDeletion({ client, identities, releases, events, memory, dependents, dependencies: made, forget: parts.forget }),
    removeCollectorFinalizers(client, events),
    requireSpec,
    retrieveReleases(releases, memory),
    holdSuspended([watches, sources]),
    ensureFinalizer(client),
    validate(identities),
    correctDrift(applying),
    pinRelease(releases, resolveBundle({ catalogs, contents, dependencies: choice })),
    lookAgain(memory),
    keepContent(events, memory),
    readConfiguration({ watches: sources, driftIntervalMs: applying.driftIntervalMs }),
    holdBack({ ...applying, comeBack: parts.comeBack }),
    unpackBundle({ images, bundles, providers }),
    checkBundle(events, memory),
    tellProxy,
    checkClusterVersion,
    checkRequirements({ apis, events, memory }),
    installDependencies(made),
    checkDependencies(choice),
    applyBundle(applying),
  ];
}
