import { expect, test } from "vitest";
import { releaseRecord } from "../../test/support/releases.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { getDriftPolicy } from "./drift.ts";
import { isTakeOver, type ReleaseRecord } from "./record.ts";
import type { RolledBack } from "./rollbackBackoff.ts";

const labelsOf = (version: string): Record<string, string> => ({
  "olm.operatorframework.io/package-name": "p",
  "olm.operatorframework.io/bundle-name": `p.v${version}`,
  "olm.operatorframework.io/bundle-version": version,
  "olm.operatorframework.io/bundle-reference": `quay.io/p:v${version}`,
});
const labels = labelsOf("1.0.0");
const release = (parts: Partial<ReleaseRecord>): ReleaseRecord => releaseRecord(2, "deployed", { labels, ...parts, objects: [] });
const rolledBack: RolledBack = {
  release: 4,
  bundle: "p.v2.0.0",
  version: "2.0.0",
  inputDigest: "2",
  generation: 1,
  catalog: "",
  reason: "Retrying",
  message: "",
  attempts: 1,
  at: "2026-01-01T00:00:00Z",
};
const go = release({});
const ours = release({ inputDigest: "1" });
const taken = release({ inputDigest: "1", takenOver: true });

// Source: O-16 (spec.drift.policy).
test.for<[what: string, deployed: ReleaseRecord | undefined, next: Parameters<typeof isTakeOver>[1], is: boolean]>([
  ["an installation", undefined, { labels }, false],
  ["a release of another controller", go, { labels }, true],
  ["a release of another controller, from a mirror", go, { labels: { ...labels, "olm.operatorframework.io/bundle-reference": "m" } }, true],
  ["an upgrade of a release of another controller", go, { labels: labelsOf("2.0.0") }, false],
  ["a rollback to a release of another controller", go, { labels, rolledBack }, true],
  ["a changed configuration of a taken-over release", taken, { labels }, false],
  ["a rollback to a taken-over release", taken, { labels, rolledBack }, true],
  ["an upgrade of a taken-over release", taken, { labels: labelsOf("2.0.0") }, false],
  ["a changed configuration of our own release", ours, { labels }, false],
  ["a rollback to our own release", ours, { labels, rolledBack }, false],
  ["our own release, after a rollback to a release of another controller", release({ rolledBack }), { labels }, false],
  ["our own release, pinned to a release of another controller", release({ pinnedTo: 1 }), { labels }, false],
])("isTakeOver recognizes only releases that apply the bundle of another controller unchanged: %s", ([, deployed, next, is]) => {
  expect(isTakeOver(deployed, next)).toBe(is);
});

type DriftSpec = ClusterExtension["spec"]["drift"];

test.for<[spec: DriftSpec, takenOver: true | undefined, policy: string, isTakenOver: boolean]>([
  [undefined, undefined, "Correct", false],
  [undefined, true, "Warn", true],
  [{}, true, "Warn", true],
  [{ ignore: [] }, undefined, "Correct", false],
  [{ policy: "Correct" }, true, "Correct", false],
  [{ policy: "Warn" }, true, "Warn", false],
  [{ policy: "Ignore" }, true, "Ignore", false],
])("getDriftPolicy, with spec.drift %j and takenOver %j, returns %s", ([drift, takenOver, policy, isTakenOver]) => {
  const spec = { drift } as ClusterExtension["spec"];
  expect(getDriftPolicy(spec, takenOver ? { takenOver } : {})).toEqual({ policy, isTakenOver });
});
