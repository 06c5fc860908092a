import { expect, test } from "vitest";
import { LABEL_BUNDLE_NAME } from "../api/constants.ts";
import type { ReleaseRecord } from "../release/record.ts";
import { findCause } from "./releaseHistory.ts";

const release = (version: number, parts: Partial<ReleaseRecord> = {}): ReleaseRecord => ({
  name: "x",
  namespace: "x",
  version,
  status: "deployed",
  description: "",
  firstDeployed: "",
  lastDeployed: "",
  labels: { [LABEL_BUNDLE_NAME]: "x.v1" },
  annotations: {},
  objects: [],
  ...parts,
});
const BEFORE = release(1, { generation: 1 });
const V2 = { [LABEL_BUNDLE_NAME]: "x.v2" };

test.for<[cause: string, record: ReleaseRecord, before: ReleaseRecord | undefined]>([
  ["install by olmv1", release(1, { generation: 1, changedBy: "olmv1" }), undefined],
  ["install", release(1), undefined],
  ["spec change by kubectl-edit", release(2, { generation: 2, changedBy: "kubectl-edit" }), BEFORE],
  ["new bundle in the catalog", release(2, { generation: 1, labels: V2, changedBy: "olmv1" }), BEFORE],
  ["cluster proxy change", release(2, { generation: 1, proxy: { HTTP_PROXY: "http://p" } }), BEFORE],
  ["values or controller change", release(2, { generation: 1 }), BEFORE],
  ["rollback to revision 1 by olmv1", release(3, { pinnedTo: 1, changedBy: "olmv1" }), release(2, { generation: 1 })],
  ["removed pin", release(4, { generation: 1, labels: V2 }), release(3, { generation: 1, pinnedTo: 1 })],
  ["automatic rollback of revision 2", release(3, { rolledBack: { release: 2 } as never }), release(2)],
  ["takeover from another operator-controller", release(2, { takenOver: true }), release(1)],
  ["", release(5, { generation: 3 }), undefined],
  ["", release(2), release(1)],
])("findCause returns %j", ([cause, record, before]) => {
  expect(findCause(record, before)).toBe(cause);
});
