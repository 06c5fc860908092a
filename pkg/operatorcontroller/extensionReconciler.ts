import type { ClusterExtension } from "../api/clusterExtension.ts";
import { systemClock } from "../async/clock.ts";
import { CERTIFICATE_TIMES } from "../certificates/rotation.ts";
import type { Informer } from "../controller/informer.ts";
import { ThreadIssuer } from "../serving/certificateIssuer.ts";
import { CertificateProviders } from "./apply/certificateProviders.ts";
import { type Handovers, ObjectClaims } from "./apply/handovers.ts";
import { BundleCache } from "./bundles/bundleCache.ts";
import { ObjectChecker } from "./crds/existingObjects.ts";
import { contentRef } from "./eventHandlers.ts";
import type { OperatorControllerOptions } from "./operatorControllerOptions.ts";
import { keepInstalled } from "./reconcile/apply.ts";
import { checkHealth, type HealthDependencies } from "./reconcile/health.ts";
import { Reconciler, StatusWriter } from "./reconcile/reconciler.ts";
import { reconcileSteps, type StepParts } from "./reconcile/reconcileSteps.ts";
import { choiceEvents } from "./reconcile/resolve.ts";
import { type RollbackDependencies, rollBackOverdue } from "./reconcile/rollback.ts";
import type { ExtensionMetrics } from "./state/extensionMetrics.ts";
import { hasClient } from "./state/phases.ts";

/** What the controller shares with the passes over its extensions. */
export interface ReconcilerParts extends Omit<StepParts, "client" | "bundles" | "providers" | "applying"> {
  extensions: Pick<Informer<ClusterExtension>, "get">;
  metrics: ExtensionMetrics;
  handovers: Handovers;
  /** Makes a pass look at an extension's certificates in so many milliseconds. */
  wakeForCertificates: (extension: string, inMs: number) => void;
  /** When to look at an extension again although nothing happened. */
  resyncMs: (extension: Readonly<ClusterExtension>) => number;
}

/** What makes one pass over an extension: its steps, and what comes behind them. */
export function extensionReconciler(options: OperatorControllerOptions, parts: ReconcilerParts): Reconciler {
  const { client, deadlineMinuteMs: minuteMs = 60_000 } = options;
  const { releases, events, memory, metrics, comeBack } = parts;
  const now = (): number => Date.now();
  const bundles = new BundleCache(systemClock);
  const applying = applyDependencies(options, parts, now);
  const health: HealthDependencies = { releases, memory, now, comeBack, minuteMs };
  const providers = new CertificateProviders(client, options.webhookCertProvider ?? "auto");
  return new Reconciler({
    statuses: new StatusWriter(client),
    events,
    metrics,
    tellChoice: choiceEvents(events, memory),
    clusterVersion: () => options.clusterVersion.current(),
    clusterProxy: () => options.clusterProxy?.current() ?? { kind: "none" },
    now,
    resyncMs: parts.resyncMs,
    passed: (phase, hasFailed) => {
      const isAimed = hasClient(phase) && phase.changes.isAimed === true;
      const isOver = isAimed || hasFailed || phase.phase === "suspended" || phase.phase === "deleting";
      parts.handovers.passed(phase.extension, isAimed, isOver);
    },
    keepInstalled: (phase, context) => keepInstalled(applying, phase, context),
    checkHealth: async (phase, context) => {
      await checkHealth(health, phase, context);
      if (await rollBackOverdue(applying, phase, context)) await checkHealth(health, phase, context);
    },
    steps: reconcileSteps({ ...parts, client, bundles, providers, applying }),
  });
}

function applyDependencies(options: OperatorControllerOptions, parts: ReconcilerParts, now: () => number): RollbackDependencies {
  const { client, driftIntervalMs, certificateTimes: times = CERTIFICATE_TIMES } = options;
  const { extensions, catalogs, releases, events, memory, metrics, watches } = parts;
  return {
    client,
    releases,
    events,
    now,
    driftIntervalMs,
    extensionExists: (name, uid) => {
      const found = extensions.get(name);
      return found !== undefined && (uid === undefined || uid === found.metadata.uid);
    },
    memory,
    claims: new ObjectClaims(),
    objectChecker: new ObjectChecker(systemClock),
    handovers: parts.handovers,
    catalogContent: (name) => contentRef(catalogs.get(name ?? "")) ?? "",
    metrics,
    watches,
    certificates: { issuer: new ThreadIssuer(), times, wake: parts.wakeForCertificates },
  };
}
