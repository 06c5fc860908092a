import { expect, test } from "vitest";
import { createObjectSet } from "../../../test/support/goOlm/objectSet.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { listObjectSetReleases } from "./objectSets.ts";

const PROPERTIES = '[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]';
const SET = { owner: "x", bundle: "x.v1.0.0", properties: PROPERTIES };
const MIGRATED = { owner: "x", bundle: "x.v1.0.0", isMigrated: true };
const RELEASE = { extension: "x", bundle: "x.v1.0.0", version: "1.0.0", properties: PROPERTIES };

test.for<[what: string, object: KubeObject, bundles: string[], want: unknown[]]>([
  ["lists an active object set", createObjectSet(SET), [], [RELEASE]],
  ["lists an object set although a release Secret contains its bundle", createObjectSet(SET), ["x.v1.0.0"], [RELEASE]],
  ["omits an archived object set", createObjectSet({ ...SET, state: "Archived" }), [], []],
  ["omits an object set of another extension", createObjectSet({ ...SET, owner: "y" }), [], []],
  ["lists a bundle without properties", createObjectSet({ ...SET, properties: undefined }), [], [{ ...RELEASE, properties: undefined }]],
  ["omits a migrated object set if a release Secret contains its bundle", createObjectSet(MIGRATED), ["x.v1.0.0"], []],
  [
    "reports a migrated object set if no release Secret contains its bundle",
    createObjectSet(MIGRATED),
    ["x.v0.9.0"],
    [{ extension: "x", reason: 'ClusterObjectSet "x-1" does not contain the properties of bundle "x.v1.0.0"' }],
  ],
  ["lists an object set without lifecycle state", { ...createObjectSet(SET), spec: undefined }, [], [RELEASE]],
])("listObjectSetReleases %s", ([, object, bundles, want]) => {
  expect(listObjectSetReleases([object], "x", new Set(bundles))).toEqual(want);
});
