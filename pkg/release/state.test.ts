import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { digestObjects } from "./identity.ts";
import { withBundleLabels } from "./labels.ts";
import type { ReleaseRecord, ReleaseStatus } from "./record.ts";
import { type DesiredRelease, determineState } from "./state.ts";

const configMap = (name: string, value = "1"): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { key: value },
});

function release(version: number, status: ReleaseStatus, objects: KubeObject[] = [configMap("a")]): ReleaseRecord {
  const labels = { bundle: "op.v1" };
  return {
    name: "x",
    namespace: "ns",
    version,
    status,
    description: "",
    firstDeployed: "",
    lastDeployed: "",
    labels,
    annotations: {},
    objects,
  };
}

const same: DesiredRelease = { objects: [configMap("a")], labels: { bundle: "op.v1" } };
const other: DesiredRelease = { objects: [configMap("a", "2"), configMap("b"), configMap("c")], labels: { bundle: "op.v2" } };

interface StateCase {
  name: string;
  history: ReleaseRecord[];
  desired: DesiredRelease;
  want: Record<string, unknown>;
}

test.for<StateCase>([
  {
    name: "determineState returns NeedsInstall when there is no release",
    history: [],
    desired: same,
    want: { kind: "NeedsInstall", reason: "no release exists yet" },
  },
  {
    name: "uninstalled",
    history: [release(1, "uninstalled")],
    desired: same,
    want: { kind: "NeedsInstall", reason: "release v1 was uninstalled" },
  },
  {
    name: "determineState returns NeedsUpgrade when the deployed release was imported from an object set, even with the same objects",
    history: [{ ...release(1, "deployed"), objectSet: "uid" }],
    desired: same,
    want: {
      kind: "NeedsUpgrade",
      reason: "release v1 was imported, and its objects still belong to the Go operator-controller",
    },
  },
  {
    name: "determineState returns Unchanged when the deployed objects are the same",
    history: [release(2, "deployed"), release(1, "superseded")],
    desired: same,
    want: { kind: "Unchanged", reason: "release v2 contains exactly the desired objects" },
  },
  {
    name: "determineState returns Unchanged when the objects were deployed without bundle labels",
    history: [release(1, "deployed")],
    desired: { ...same, objects: same.objects.map((object) => withBundleLabels(object, { packageName: "op", version: "1.0.0" })) },
    want: { kind: "Unchanged" },
  },
  {
    name: "determineState returns NeedsUpgrade when the objects of another version are desired",
    history: [release(1, "deployed", [withBundleLabels(configMap("a"), { packageName: "op", version: "1.0.0" })])],
    desired: { objects: [withBundleLabels(configMap("a"), { packageName: "op", version: "2.0.0" })], labels: { bundle: "op.v2" } },
    want: { kind: "NeedsUpgrade", reason: "release v1 differs: different bundle (bundle)" },
  },
  {
    name: "determineState returns NeedsUpgrade when other objects are desired",
    history: [release(1, "deployed", [configMap("a"), configMap("old")])],
    desired: other,
    want: {
      kind: "NeedsUpgrade",
      reason: "release v1 differs: 2 objects are new, 1 object is changed, 1 object is no longer desired, different bundle (bundle)",
    },
  },
  {
    name: "determineState returns NeedsUpgrade when another bundle has the same objects",
    history: [release(1, "deployed")],
    desired: { ...same, labels: { bundle: "op.v2" } },
    want: { kind: "NeedsUpgrade", reason: "release v1 differs: different bundle (bundle)" },
  },
  {
    name: "determineState returns Interrupted when the first install is pending",
    history: [release(1, "pending-install")],
    desired: same,
    want: {
      kind: "Interrupted",
      sameObjects: true,
      base: undefined,
      reason: "release v1 is still in status pending-install, because the controller stopped before it finished",
    },
  },
  {
    name: "determineState returns Interrupted when an upgrade is pending and other objects are desired",
    history: [release(1, "deployed"), release(2, "pending-upgrade")],
    desired: other,
    want: { kind: "Interrupted", sameObjects: false, base: release(1, "deployed") },
  },
  {
    name: "determineState returns Failed when the same objects are desired",
    history: [release(3, "failed"), release(2, "failed"), release(1, "deployed")],
    desired: same,
    want: {
      kind: "Failed",
      sameObjects: true,
      base: release(1, "deployed"),
      reason: "release v3 failed and the desired objects are the same",
    },
  },
  {
    name: "determineState returns Failed when other objects are desired",
    history: [release(1, "failed")],
    desired: { objects: [configMap("a"), configMap("b")] },
    want: {
      kind: "Failed",
      sameObjects: false,
      base: undefined,
      reason: "release v1 failed and the desired objects differ now: 1 object is new",
    },
  },
  {
    name: "determineState returns NeedsUpgrade when a superseded release has no successor",
    history: [release(4, "superseded")],
    desired: same,
    want: { kind: "NeedsUpgrade", reason: "release v4 is superseded, and no newer release replaced it" },
  },
])("$name", ({ history, desired, want }) => {
  expect(determineState(history, desired)).toMatchObject(want);
});

test("digestObjects depends only on the content of objects", () => {
  const a = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "n" }, data: { x: "1", y: "2" } };
  const swapped = { kind: "ConfigMap", data: { y: "2", x: "1" }, metadata: { namespace: "n", name: "a" }, apiVersion: "v1" };
  expect(digestObjects([swapped, configMap("b")])).toBe(digestObjects([configMap("b"), a]));
  expect(digestObjects([a])).not.toBe(digestObjects([{ ...a, data: { x: "1", y: "3" } }]));
});
