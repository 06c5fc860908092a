import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildResolved } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { ANNOTATION_MIGRATED_FROM } from "../../api/migration.ts";
import { type ConditionSupport, OPERATOR_CONDITION } from "../../api/operatorCondition.ts";
import type { OperatorConditionUse } from "../../render/operatorCondition.ts";
import { computeInputDigest } from "../reconcile/unpack.ts";
import { newReleaseHistory } from "../releases/releaseStore.ts";
import { chooseOperatorCondition } from "./operatorConditionUse.ts";
import type { Resolved, ResolvedBundle } from "./phases.ts";

const BUNDLE: ResolvedBundle = { packageName: "p", name: "p.v1", version: "1.0.0", image: "i", explanation: "" };
const OLDER: ResolvedBundle = { ...BUNDLE, name: "p.v0", version: "0.9.0" };
const CONDITION: KubeObject = { ...OPERATOR_CONDITION, metadata: { name: "p.v1", namespace: "x-system" } };

function buildDeployment(value?: string): KubeObject {
  const env = value === undefined ? [] : [{ name: "OPERATOR_CONDITION_NAME", value }];
  const spec = { template: { metadata: {}, spec: { containers: [{ name: "c" }, { name: "d", env }] } } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, spec };
}

interface Given {
  /** Objects of the deployed release. */
  deployed?: readonly KubeObject[];
  isUpgrade?: boolean;
  isMigrated?: boolean;
  /** Whether an OperatorCondition of the bundle exists that no extension created. */
  isLeft?: boolean;
}

function phaseOf(support: ConditionSupport, { deployed, isUpgrade = false, isMigrated = false, isLeft = false }: Given): Resolved {
  const extension = createExtension("x", { packageName: "p" });
  if (isMigrated) extension.metadata.annotations = { [ANNOTATION_MIGRATED_FROM]: "ns/x" };
  const foreignConditions = new Set(isLeft ? ["x-system/p.v1"] : []);
  if (!deployed) return buildResolved(extension, BUNDLE, { conditionSupport: support, foreignConditions });
  const installed = isUpgrade ? OLDER : BUNDLE;
  const labels = { "olm.operatorframework.io/bundle-name": installed.name };
  const history = { ...newReleaseHistory(), current: [releaseRecord(1, "deployed", { inputDigest: "d", labels, objects: deployed })] };
  return buildResolved(extension, BUNDLE, { conditionSupport: support, releases: { installed, history } });
}

const ALL = [CONDITION, buildDeployment("p.v1")];
const VARIABLE = [buildDeployment("p.v1")];
const NONE = [buildDeployment()];
const CASES: [why: string, given: Given, served: OperatorConditionUse, notServed: OperatorConditionUse, unknown: OperatorConditionUse][] = [
  ["nothing is installed", {}, "All", "None", "None"],
  ["the extension was converted and has no release", { isMigrated: true }, "None", "None", "None"],
  ["OLM v0 left the OperatorCondition of the bundle", { isLeft: true }, "None", "None", "None"],
  ["a converted extension is upgraded", { isMigrated: true, deployed: NONE, isUpgrade: true }, "All", "None", "None"],
  ["a bundle without is installed", { deployed: NONE }, "None", "None", "None"],
  ["a bundle without is upgraded", { deployed: NONE, isUpgrade: true }, "All", "None", "None"],
  ["a bundle with all is installed", { deployed: ALL }, "All", "Variable", "All"],
  ["a bundle with all is upgraded", { deployed: ALL, isUpgrade: true }, "All", "None", "All"],
  ["a bundle with the variable is installed", { deployed: VARIABLE }, "All", "Variable", "Variable"],
  ["a bundle with the variable is upgraded", { deployed: VARIABLE, isUpgrade: true }, "All", "None", "None"],
  ["the user set the variable to another value", { deployed: [buildDeployment("other")] }, "None", "None", "None"],
];

test.for(CASES)("chooseOperatorCondition decides by the support of the cluster when %s", ([, given, served, notServed, unknown]) => {
  const choose = (support: ConditionSupport): OperatorConditionUse => chooseOperatorCondition(phaseOf(support, given));
  expect([choose("Served"), choose("NotServed"), choose("Unknown")]).toEqual([served, notServed, unknown]);
});

test("computeInputDigest stays the same when a cluster begins to serve OperatorConditions and the bundle is installed without one", () => {
  const digest = (support: ConditionSupport, given: Given): string => computeInputDigest(phaseOf(support, given));
  expect(digest("Served", { deployed: NONE })).toBe(digest("NotServed", { deployed: NONE }));
  expect(digest("Served", {})).not.toBe(digest("NotServed", {}));
});
