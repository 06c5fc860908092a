import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { StepContext } from "../../pkg/controller/reconcile.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { Handovers } from "../../pkg/operatorcontroller/apply/handovers.ts";
import { ObjectClaims } from "../../pkg/operatorcontroller/apply/objectClaims.ts";
import { type InstalledBundle, newFacts, type PassFacts } from "../../pkg/operatorcontroller/facts.ts";
import { ExtensionMemory } from "../../pkg/operatorcontroller/memory.ts";
import type { RollbackDependencies } from "../../pkg/operatorcontroller/releases/rollback.ts";
import { type MemoryReleases, RecordedEvents, stepContext } from "./extensionFakes.ts";

/** The bundle that `passOver` takes for installed. */
export const INSTALLED: InstalledBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "quay.io/p@sha256:1" };

/** What a pass over an extension is made of. */
export interface PassParts {
  deps: RollbackDependencies;
  facts: PassFacts;
  events: RecordedEvents;
  memory: ExtensionMemory;
  context: StepContext<ClusterExtension>;
}

/** What a pass over `x` needs, with these releases on record; objects are compared once a minute. */
export function passOver(client: Client, x: ClusterExtension, scoped: Client, releases: MemoryReleases): PassParts {
  const events = new RecordedEvents();
  const facts: PassFacts = { ...newFacts(x), history: releases.now(), installed: INSTALLED, scoped };
  const memory = new ExtensionMemory();
  const deps: RollbackDependencies = {
    client,
    releases,
    events,
    now: Date.now,
    driftIntervalMs: 60_000,
    extensionExists: () => true,
    memory,
    claims: new ObjectClaims(),
    handovers: new Handovers(() => []),
    catalogContent: () => "",
  };
  return { deps, facts, events, memory, context: stepContext(x) };
}
