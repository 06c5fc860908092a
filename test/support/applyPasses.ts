import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { StepContext } from "../../pkg/controller/stepSequence.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { Handovers, ObjectLocks } from "../../pkg/operatorcontroller/apply/handovers.ts";
import type { RollbackServices } from "../../pkg/operatorcontroller/reconcile/rollback.ts";
import { ExtensionCache } from "../../pkg/operatorcontroller/state/extensionCache.ts";
import type { Authenticated } from "../../pkg/operatorcontroller/state/phases.ts";
import type { InstalledBundle } from "../../pkg/release/installedBundle.ts";
import { type MemoryReleases, RecordedEvents, stepContext } from "./extensionFakes.ts";
import { buildAuthenticated } from "./phases.ts";

/** The bundle that `passOver` treats as installed. */
export const INSTALLED: InstalledBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "quay.io/p@sha256:1" };

/** The context of an apply. */
export interface PassParts {
  deps: RollbackServices;
  phase: Authenticated;
  events: RecordedEvents;
  memory: ExtensionCache;
  context: StepContext;
}

/** Creates the context of an apply for `x` with these stored releases; objects are compared once a minute. */
export function passOver(client: Client, x: ClusterExtension, scoped: Client, releases: MemoryReleases): PassParts {
  const events = new RecordedEvents();
  const phase = buildAuthenticated(x, { releases: { history: releases.now(), installed: INSTALLED }, client: scoped });
  const memory = new ExtensionCache();
  const deps: RollbackServices = {
    discovery: client,
    releases,
    events,
    now: Date.now,
    driftIntervalMs: 60_000,
    extensionExists: () => true,
    memory,
    locks: new ObjectLocks(),
    handovers: new Handovers(() => []),
    catalogContent: () => "",
  };
  return { deps, phase, events, memory, context: stepContext() };
}
