import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, runStep } from "../../../test/support/phases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { DependencyPlans } from "../dependencies/dependencyPlans.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import { type PlanFailureServices, rollBackPlan } from "./planFailure.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const BUNDLE = { name: "a.v2.0.0", version: "2.0.0" };
const PLAN: KnownPlan = {
  root: "a",
  uid: "uid-a",
  status: { digest: "sha256:1", bundle: BUNDLE, catalog: "c", wave: 2, members: [] },
  members: [
    { extension: "b", packageName: "b", bundle: { name: "b.v1.0.0", version: "1.0.0" }, catalog: "c", wave: 1, created: true },
    { extension: "a", packageName: "a", bundle: BUNDLE, catalog: "c", wave: 2 },
  ],
};

function newWorld(): { services: PlanFailureServices; plans: DependencyPlans; calls: string[]; extension: ClusterExtension } {
  const calls: string[] = [];
  const plans = new DependencyPlans({ enqueue: () => undefined, extensions: { get: () => undefined }, installed: { list: () => [] } });
  plans.set(PLAN);
  const services = {
    plans,
    created: {
      abandon: ({ metadata }: ClusterExtension, plan: KnownPlan) => {
        calls.push(`abandon ${metadata.name} ${plan.status.digest}`);
        return Promise.resolve();
      },
    },
    events: new RecordedEvents(),
    now: () => NOW,
    requeueAfter: (name: string, inMs: number) => calls.push(`requeue ${name} in ${inMs}`),
  };
  return { services: services as never, plans, calls, extension: createExtension("a", { packageName: "a" }) };
}

test("rollBackPlan rolls a failed plan back before resolution, so that an excluded version does not prevent it", async () => {
  const { services, plans, calls, extension } = newWorld();
  plans.fail("b", 'ClusterExtension "b" failed');
  const { error } = await runStep(rollBackPlan(services), buildAuthenticated(extension));
  expect(error?.message).toBe(
    'the plan to install bundle "a.v2.0.0" was rolled back because ClusterExtension "b" failed; the controller retries after 2026-01-01T00:10:00Z, or as soon as the spec or a bundle changes',
  );
  expect(calls).toEqual(["abandon a sha256:1", "requeue a in 1000"]);
  expect(plans.getFailure("a")).toBeUndefined();
  expect(plans.of("a")).toMatchObject({ isRolledBack: true, status: { failure: { attempts: 1, generation: 1 } } });
});

test("rollBackPlan does nothing when no extension of the plan has failed", async () => {
  const { services, calls, extension } = newWorld();
  const phase = buildAuthenticated(extension);
  expect(await runStep(rollBackPlan(services), phase)).toMatchObject({ next: phase, error: undefined });
  expect(calls).toEqual([]);
});
