import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { systemClock } from "../async/clock.ts";
import { CERTIFICATE_TIMES } from "../certificates/rotation.ts";
import type { Informer } from "../controller/informer.ts";
import { ThreadIssuer } from "../serving/certificateIssuer.ts";
import { CertificateProviders } from "./apply/certificateProviders.ts";
import { ObjectLocks } from "./apply/handovers.ts";
import { BundleCache } from "./bundles/bundleCache.ts";
import { getContentRef } from "./eventHandlers.ts";
import type { OperatorControllerOptions } from "./operatorControllerOptions.ts";
import { keepInstalled } from "./reconcile/apply.ts";
import { checkHealth } from "./reconcile/health.ts";
import { Reconciler } from "./reconcile/reconciler.ts";
import { reconcileSteps } from "./reconcile/reconcileSteps.ts";
import { createChoiceRecorder } from "./reconcile/resolve.ts";
import { rollBackOverdue } from "./reconcile/rollback.ts";
import type { Services } from "./reconcile/services.ts";
import { createExtensionStatusWriter } from "./reconcile/statusEvents.ts";
import { hasClient } from "./state/phases.ts";

/** The services that are derived from the options and the shared services. */
type DerivedServices =
  | "bundles"
  | "catalogContent"
  | "certificates"
  | "locks"
  | "client"
  | "clusterProxy"
  | "clusterVersion"
  | "discovery"
  | "driftIntervalMs"
  | "extensionExists"
  | "minuteMs"
  | "now"
  | "providers"
  | "statuses";

/** The services that the controller shares with its reconciles. */
export interface SharedServices extends Omit<Services, DerivedServices> {
  extensions: Pick<Informer<ClusterExtension>, "get">;
  catalogs: Pick<Informer<ClusterCatalog>, "get" | "list">;
  /** Enqueues an extension for its certificates after `inMs` milliseconds. */
  enqueueForCertificates: (extension: string, inMs: number) => void;
}

/** Returns the reconciler of extensions: its steps, and the work after the steps. */
export function newExtensionReconciler(options: OperatorControllerOptions, shared: SharedServices): Reconciler {
  const services = buildServices(options, shared);
  return new Reconciler({
    ...services,
    recordChoice: createChoiceRecorder(services),
    onEnd: (phase, hasFailed) => {
      const isAimed = hasClient(phase) && phase.changes.isAimed === true;
      const isOver = isAimed || hasFailed || phase.phase === "suspended" || phase.phase === "deleting";
      services.handovers.endReconcile(phase.extension, isAimed, isOver);
    },
    onSettled: (extension) => services.managed.releaseWrites(extension),
    keepInstalled: (phase, context) => keepInstalled(services, phase, context),
    checkHealth: async (phase, context) => {
      await checkHealth(services, phase, context);
      if (await rollBackOverdue(services, phase, context)) await checkHealth(services, phase, context);
    },
    steps: reconcileSteps(services),
  });
}

function buildServices(options: OperatorControllerOptions, shared: SharedServices): Services {
  const { client, driftIntervalMs, certificateTimes: times = CERTIFICATE_TIMES } = options;
  const { extensions, catalogs, events } = shared;
  return {
    ...shared,
    client,
    discovery: client,
    statuses: createExtensionStatusWriter(client, events),
    clusterVersion: () => options.clusterVersion.current(),
    clusterProxy: () => options.clusterProxy?.current() ?? { kind: "none" },
    now: options.now ?? Date.now,
    driftIntervalMs,
    minuteMs: options.deadlineMinuteMs ?? 60_000,
    bundles: new BundleCache(systemClock),
    providers: new CertificateProviders(client, options.webhookCertProvider ?? "auto"),
    extensionExists: (name, uid) => {
      const found = extensions.get(name);
      return found !== undefined && (uid === undefined || uid === found.metadata.uid);
    },
    locks: new ObjectLocks(),
    catalogContent: (name) => getContentRef(catalogs.get(name ?? "")) ?? "",
    certificates: { issuer: new ThreadIssuer(), times, enqueueAfter: shared.enqueueForCertificates },
  };
}
