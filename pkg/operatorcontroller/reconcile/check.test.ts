import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked, type PhaseParts, problemTexts, runStep } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { loadBundle } from "../../bundle/load.ts";
import { type BundleRequirements, readRequirements } from "../../bundle/requirements.ts";
import { buildSampleBundles } from "../../devcluster/sample/sample.ts";
import { getProblems } from "../../errors/errors.ts";
import type { ServedResource } from "../../kube/servedResources.ts";
import { toRenderableBundle } from "../bundles/bundleCache.ts";
import { findWaitingError } from "../state/conditionPoller.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { Phase, ResolvedBundle, Unpacked } from "../state/phases.ts";
import { checkRequirements } from "./check.ts";

const BUNDLE: ResolvedBundle = { packageName: "p", name: "p.v1.1.0", version: "1.1.0", image: "i", explanation: "" };
const OLDER: ResolvedBundle = { ...BUNDLE, name: "p.v1.0.0", version: "1.0.0" };
const NEWER: BundleRequirements = { minKubeVersion: "1.40.0" };
const THINGS: BundleRequirements = { definitions: [{ name: "things.g.io", version: "v1" }] };
const THING: ServedResource = { group: "g.io", version: "v1", resource: "things", kind: "Thing" };
const TOO_OLD = "its minKubeVersion is 1.40.0, but the API server has version v1.36.3";
const NO_THINGS = 'CustomResourceDefinition "things.g.io" is required, but not served';
const note = (findings: string): string => `bundle "p.v1.1.0" may not work: the cluster does not meet its requirements: ${findings}`;

interface Given {
  policy?: "Enforce" | "Warn";
  installed?: ResolvedBundle;
  /** Requirements of the pulled bundle. */
  bundle?: BundleRequirements;
  /** Requirements of the deployed release. */
  release?: BundleRequirements;
  parts?: PhaseParts<Unpacked>;
  fails?: Error;
}

/** One extension, and a cluster that serves the APIs in `served`. */
class RequirementsFixture {
  readonly served: ServedResource[] = [];
  readonly events = new RecordedEvents();
  readonly #memory = new ExtensionCache();

  async pass({ policy, installed, bundle, release, parts = {}, fails }: Given): Promise<{ phase: Phase; error: unknown }> {
    const base = createExtension("x", { packageName: "p" });
    const extension = policy ? { ...base, spec: { ...base.spec, install: { requirements: policy } } } : base;
    let phase = buildUnpacked(extension, BUNDLE, { releases: { installed }, ...parts });
    if (bundle) {
      const [sample] = buildSampleBundles();
      const content = loadBundle(sample?.files ?? new Map());
      const { minKubeVersion, definitions = [] } = bundle;
      content.csv.spec.customresourcedefinitions.required = definitions.map((one) => ({ ...one, kind: "Thing" }));
      content.csv.spec.minKubeVersion = minKubeVersion ?? "";
      expect(readRequirements(content)).toEqual(bundle);
      phase = { ...phase, content: toRenderableBundle(content) };
    }
    const { releases } = phase;
    if (release) releases.history = { ...releases.history, current: [releaseRecord(1, "deployed", { requirements: release })] };
    const apis = {
      resources: () => (fails ? Promise.reject(fails) : Promise.resolve([...this.served])),
      version: () => Promise.resolve("v1.36.3"),
    };
    const step = checkRequirements({
      apis,
      events: this.events,
      memory: this.#memory,
      plans: { listPartners: () => [], listWaiting: () => [] },
    });
    return runStep(step, phase);
  }
}

const BOTH: BundleRequirements = { ...NEWER, ...THINGS };

// Source: H-12, S0-136, S0-142, D-06.
test.for<[why: string, given: Given, notes: string[]]>([
  ["the bundle requires nothing", { policy: "Enforce" }, []],
  ["all requirements are met", { policy: "Enforce", bundle: { minKubeVersion: "1.36.3" } }, []],
  ["some requirements are not met under the default policy", { bundle: BOTH }, [note(`${TOO_OLD}, ${NO_THINGS}`)]],
  ["some requirements are not met under policy Warn", { policy: "Warn", bundle: BOTH }, [note(`${TOO_OLD}, ${NO_THINGS}`)]],
  ["the bundle is installed and the release contains its requirements", { installed: BUNDLE, release: THINGS }, [note(NO_THINGS)]],
  ["the bundle is installed under policy Enforce", { policy: "Enforce", installed: BUNDLE, bundle: THINGS }, [note(NO_THINGS)]],
  ["the bundle is on hold", { policy: "Enforce", bundle: THINGS, parts: { held: { reason: "Retrying", message: "" } } }, []],
  ["the API server does not respond", { bundle: THINGS, fails: new Error("other side closed") }, []],
  [
    "the API server does not respond and the bundle is installed under policy Enforce",
    { policy: "Enforce", installed: BUNDLE, release: THINGS, fails: new Error("other side closed") },
    [],
  ],
])("checkRequirements accepts a bundle when %s", async ([, given, notes]) => {
  const world = new RequirementsFixture();
  const { phase, error } = await world.pass(given);
  expect([error, problemTexts(phase)]).toEqual([undefined, notes]);
  expect(world.events.seen).toEqual(notes.map((text) => `Warning RequirementsNotMet: ${text}`));
  expect(phase.report.awaits !== undefined).toBe(notes.length > 0);
});

test.for<[why: string, given: Given]>([
  ["nothing is installed", {}],
  ["another bundle is installed", { installed: OLDER, release: NEWER }],
])("checkRequirements under Enforce waits until requirements are met when %s", async ([, given]) => {
  const world = new RequirementsFixture();
  const { phase, error } = await world.pass({ policy: "Enforce", bundle: BOTH, ...given });
  expect(error).toMatchObject({ reason: "RequirementsNotMet", retry: true });
  expect((error as Error).message).toBe(
    `bundle "p.v1.1.0" is not installed: the cluster does not meet its requirements: ${TOO_OLD}, ${NO_THINGS}`,
  );
  expect(getProblems(error)).toMatchObject([
    {
      type: "RequirementsNotMet",
      severity: "Error",
      details: { requirements: [TOO_OLD, NO_THINGS] },
      next: expect.stringContaining("Warn"),
    },
  ]);
  expect([phase.report.problems, world.events.seen, phase.report.awaits]).toEqual([[], [], undefined]);
  const { signal } = new AbortController();
  expect(await findWaitingError(error)?.isOver(signal)).toBe(false);
  world.served.push(THING);
  expect(await findWaitingError(error)?.isOver(signal)).toBe(true); // the unmet requirements change, although the version is still too low
});

test("checkRequirements under Enforce retries when the API server does not respond", async () => {
  const { error } = await new RequirementsFixture().pass({ policy: "Enforce", bundle: THINGS, fails: new Error("other side closed") });
  expect(error).toMatchObject({ reason: "Retrying", retry: true });
  expect((error as Error).message).toBe('cannot compare the requirements of bundle "p.v1.1.0" with the cluster: other side closed');
});

test("checkRequirements records one Event until the unmet requirements change", async () => {
  const world = new RequirementsFixture();
  const given: Given = { installed: BUNDLE, release: BOTH };
  const { phase } = await world.pass(given);
  await world.pass(given);
  expect(world.events.seen).toHaveLength(1);
  world.served.push(THING);
  expect(await phase.report.awaits?.(new AbortController().signal)).toBe(true);
  const later = await world.pass(given);
  expect(problemTexts(later.phase)).toEqual([note(TOO_OLD)]);
  expect(world.events.seen).toHaveLength(2);
});

test("checkRequirements reports twenty unmet requirements, and the number of remaining requirements", async () => {
  const definitions = Array.from({ length: 30 }, (_, i) => ({ name: `d${i}.g.io`, version: "v1" }));
  const { phase } = await new RequirementsFixture().pass({ bundle: { definitions } });
  expect(problemTexts(phase)[0]).toContain('"d19.g.io" is required, but not served, and 10 more');
});
