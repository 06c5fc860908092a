import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { EventSink } from "../../api/events.ts";
import type { Informer } from "../../controller/informer.ts";
import type { Step } from "../../controller/reconcile.ts";
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
import type { ReconcileState } from "../state/reconcileState.ts";
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

/** The steps of a pass over one extension, in their order. */
export function reconcileSteps(parts: StepParts): Step<ReconcileState["extension"], ReconcileState>[] {
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
    skipSuspended([watches, sources]),
    ensureFinalizer(client),
    validate(identities),
    correctDrift(applying),
    pinRevision(releases),
    resolveBundle({ catalogs, contents, dependencies: choice }),
    trackUnavailableCatalogs(memory),
    pinInstalledImage(events, memory),
    readConfiguration({ watches: sources, driftIntervalMs: applying.driftIntervalMs }),
    skipRolledBackBundle({ ...applying, comeBack: parts.comeBack }),
    unpackBundle({ images, bundles, providers }),
    checkBundle(events, memory),
    reportProxy,
    checkClusterVersion,
    checkRequirements({ apis, events, memory }),
    installDependencies(made),
    checkDependencies(choice),
    applyBundle(applying),
  ];
}
