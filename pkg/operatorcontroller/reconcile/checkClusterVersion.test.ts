import { expect, test } from "vitest";
import { type ClusterFixture, clusterFrom } from "../../../test/support/catalogFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked, problemTexts, runStep } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { loadBundle } from "../../bundle/load.ts";
import { buildSampleBundles } from "../../devcluster/sample/sample.ts";
import { toRenderableBundle } from "../bundles/bundleCache.ts";
import type { ResolvedBundle } from "../state/phases.ts";
import { checkClusterVersion } from "./check.ts";

const BUNDLE: ResolvedBundle = { packageName: "p", name: "p.v1.1.0", version: "1.1.0", image: "i", explanation: "" };
const OLDER: ResolvedBundle = { ...BUNDLE, name: "p.v1.0.0", version: "1.0.0" };
const WARNING = `bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`;

interface Given {
  policy?: CatalogSource["clusterVersionPolicy"];
  cluster?: ClusterFixture;
  installed?: ResolvedBundle;
  /** Annotation olm.properties of the pulled bundle. */
  bundle?: string;
  /** Annotation olm.properties of the deployed release. */
  release?: string;
}

const max = (value: string): string => `[{"type":"olm.maxOpenShiftVersion","value":${value}}]`;

async function pass({ policy, cluster, installed, bundle, release }: Given): Promise<{ notes: string[]; error?: Error }> {
  const extension = createExtension("x", { packageName: "p", ...(policy ? { clusterVersionPolicy: policy } : {}) });
  let start = buildUnpacked(extension, BUNDLE, { clusterVersion: clusterFrom(cluster), releases: { installed } });
  if (bundle !== undefined) {
    const [sample] = buildSampleBundles();
    const content = { ...toRenderableBundle(loadBundle(sample?.files ?? new Map())), annotations: { "olm.properties": bundle } };
    start = { ...start, content };
  }
  const { releases } = start;
  if (release !== undefined)
    releases.history = { ...releases.history, current: [releaseRecord(1, "deployed", { annotations: { "olm.properties": release } })] };
  const { phase, error } = await runStep(checkClusterVersion, start);
  return { notes: problemTexts(phase), ...(error ? { error } : {}) };
}

test.for<[why: string, given: Given, notes: string[]]>([
  ["the cluster's version is too high", { cluster: "4.18.0", bundle: max('"4.17"') }, [WARNING]],
  ["it is installed and the release contains the maximum", { cluster: "4.18.0", installed: BUNDLE, release: max('"4.17"') }, [WARNING]],
  ["it is installed under policy Enforce", { policy: "Enforce", cluster: "4.18.0", installed: BUNDLE, bundle: max('"4.17"') }, [WARNING]],
  [
    "the maximum is malformed",
    { cluster: "4.18.0", bundle: max("4.0e1") },
    [
      'bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion is invalid (error converting to semver for version 4.0e1: invalid semver format "4.0e1": expected <major>.<minor>)',
    ],
  ],
  [
    "the properties of an adopted release are malformed",
    { cluster: "4.18.0", installed: BUNDLE, release: "" },
    ['bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion is invalid (unexpected end of JSON input)'],
  ],
  ["the cluster's version is supported", { policy: "Enforce", cluster: "4.10.0", bundle: max("4.10") }, []],
  ["the cluster's version is unknown", { cluster: { unknown: "why" }, bundle: max('"4.17"') }, []],
  ["the cluster is not OpenShift", { policy: "Enforce", bundle: max('"4.17"') }, []],
  ["the bundle has no maximum", { policy: "Enforce", cluster: "4.18.0", bundle: "[]" }, []],
  ["the bundle was not pulled and nothing is deployed", { policy: "Enforce", cluster: "4.18.0" }, []],
])("checkClusterVersion accepts a bundle, and reports a problem if the bundle may not work, when %s", async ([, given, notes]) => {
  expect(await pass(given)).toEqual({ notes });
});

test.for<[why: string, given: Given, because: string]>([
  [
    "the cluster's version is too high",
    { cluster: "4.18.0", installed: OLDER, bundle: max('"4.17"') },
    "its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18",
  ],
  [
    "the cluster's version is too high and nothing is installed",
    { cluster: "4.18.0", bundle: max("4.1") },
    "its olm.maxOpenShiftVersion 4.1 is below the cluster's 4.18",
  ],
  [
    "its maximum is malformed",
    { cluster: "4.18.0", installed: OLDER, bundle: max("null") },
    "its olm.maxOpenShiftVersion is invalid (error converting to semver for version null: invalid type <nil> for olm.maxOpenshiftVersion: null)",
  ],
  [
    "the cluster's version is unknown",
    { cluster: { unknown: "forbidden" }, installed: OLDER, bundle: max('"4.17"') },
    "its olm.maxOpenShiftVersion 4.17 cannot be compared, because the cluster's version is unknown (forbidden)",
  ],
])("checkClusterVersion under Enforce rejects a bundle when %s", async ([, given, because]) => {
  const { error } = await pass({ ...given, policy: "Enforce" });
  expect(error).toMatchObject({ retry: true, reason: "Retrying" });
  expect(error?.message).toBe(`bundle "p.v1.1.0" is not installed: ${because} (according to its ClusterServiceVersion, not the catalog)`);
});
