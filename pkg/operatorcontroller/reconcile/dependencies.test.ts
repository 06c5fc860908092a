import { expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { problemTexts, runStep, unpacked } from "../../../test/support/phases.ts";
import { loadBundle } from "../../bundle/load.ts";
import { contentOf } from "../bundles/bundleCache.ts";
import type { Phase } from "../state/phases.ts";
import { waitingIn } from "../state/waiting.ts";
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
  const made = extensionNamed("p", { packageName: "p" });
  const extension = policy ? { ...made, spec: { ...made.spec, dependencies: { policy } } } : made;
  const content = contentOf(loadBundle(bundleFiles({ "metadata/dependencies.yaml": file })));
  const installed = isInstalled ? RESOLVED : undefined;
  const phase = unpacked(extension, { ...RESOLVED, properties: OWN }, { content, releases: { installed } });
  return runStep(checkDependencies({ choice: dependencyWorld(world).choice }), phase);
}

test("what only the metadata of a bundle requires is looked for before it is installed", async () => {
  const { error } = await pass({ file: needing("Green") });
  expect(error).toMatchObject({
    reason: "UnsatisfiedDependencies",
    message:
      'bundle "p.v1.0.0" is not installed: it requires API example.com/v1 Green, as its own metadata says and the catalog does not; a version range can leave it out',
  });
  expect(waitingIn(error)).toBeDefined();
});

test.for<[string, Given]>([
  ["another bundle provides it", { file: needing("Green"), installed: { g: { bundle: "g.v1.0.0", provides: ["Green"] } } }],
  ["the cluster serves it", { file: needing("Green"), served: ["Green"] }],
  ["the bundle provides it itself", { file: needing("Own") }],
  ["nothing is to be checked", { file: needing("Green"), policy: "Ignore" }],
  ["the bundle is installed already", { file: needing("Green"), isInstalled: true }],
])("the bundle is installed where %s", async ([, given]) => {
  expect((await pass(given)).error).toBeUndefined();
});

test("what cannot be read is told as the author's mistake", async () => {
  const { phase, error } = await pass({ file: "dependencies: [5]" });
  expect(error).toBeUndefined();
  expect(problemTexts(phase)).toHaveLength(1);
  expect(problemTexts(phase)[0]).toContain(
    'the dependencies of bundle "p.v1.0.0" are malformed, a mistake for its author to correct: metadata/dependencies.yaml',
  );
});
