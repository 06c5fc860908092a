import { expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked, problemTexts, runStep } from "../../../test/support/phases.ts";
import { loadBundle } from "../../bundle/load.ts";
import { toRenderableBundle } from "../bundles/bundleCache.ts";
import { findWaitingError } from "../state/conditionPoller.ts";
import type { Phase } from "../state/phases.ts";
import { checkDependencies } from "./dependencies.ts";

const RESOLVED = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "registry.example/p", explanation: "" };
const OWN = JSON.stringify([{ type: "olm.gvk", value: { group: "example.com", version: "v1", kind: "Own" } }]);
const needing = (kind: string): string => `dependencies: [{type: olm.gvk, value: {group: example.com, version: v1, kind: ${kind}}}]`;

interface Given extends DependencyWorld {
  file: string;
  policy?: "Ignore" | "Install";
  isInstalled?: boolean;
}

async function pass({ file, policy, isInstalled, ...world }: Given): Promise<{ phase: Phase; error: unknown }> {
  const made = createExtension("p", { packageName: "p" });
  const extension = policy ? { ...made, spec: { ...made.spec, dependencies: { policy } } } : made;
  const content = toRenderableBundle(loadBundle(bundleFiles({ "metadata/dependencies.yaml": file })));
  const installed = isInstalled ? RESOLVED : undefined;
  const phase = buildUnpacked(extension, { ...RESOLVED, properties: OWN }, { content, releases: { installed } });
  return runStep(checkDependencies({ choice: dependencyWorld(world).choice }), phase);
}

test("checkDependencies rejects a bundle when only its metadata has an unsatisfied dependency", async () => {
  const { error } = await pass({ file: needing("Green") });
  expect(error).toMatchObject({
    reason: "UnsatisfiedDependencies",
    message:
      'bundle "p.v1.0.0" is not installed: it requires API example.com/v1 Green (according to its own metadata, not the catalog); exclude the version with spec.source.catalog.version',
  });
  expect(findWaitingError(error)).toBeDefined();
});

test.for<[string, Given]>([
  ["another bundle provides it", { file: needing("Green"), installed: { g: { bundle: "g.v1.0.0", provides: ["Green"] } } }],
  ["the cluster serves it", { file: needing("Green"), served: ["Green"] }],
  ["the bundle provides it itself", { file: needing("Own") }],
  ["dependencies are ignored", { file: needing("Green"), policy: "Ignore" }],
  ["the bundle is installed already", { file: needing("Green"), isInstalled: true }],
])("checkDependencies accepts a bundle when %s", async ([, given]) => {
  expect((await pass(given)).error).toBeUndefined();
});

test("checkDependencies reports malformed dependencies as a mistake of the author", async () => {
  const { phase, error } = await pass({ file: "dependencies: [5]" });
  expect(error).toBeUndefined();
  expect(problemTexts(phase)).toHaveLength(1);
  expect(problemTexts(phase)[0]).toContain(
    'bundle "p.v1.0.0" has malformed dependencies that its author must fix: metadata/dependencies.yaml',
  );
});
