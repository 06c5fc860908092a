import { expect, test } from "vitest";
import { ANNOTATION_PROGRAM_VERSION } from "../api/constants.ts";
import { findLeader, LEASE, type Lease, type LeaseSpec } from "./lease.ts";

const NOW = Date.parse("2026-01-01T00:01:00Z");
const VERSION = { [ANNOTATION_PROGRAM_VERSION]: "0.1.0" };
const lease = (spec: LeaseSpec, annotations: Record<string, string> = VERSION): Lease => ({
  ...LEASE,
  metadata: { name: "lock", annotations },
  spec: { holderIdentity: "pod-1", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:50.000000Z", ...spec },
});

test.for<[string, Lease | undefined, unknown]>([
  ["the leader with its version if the Lease is current", lease({}), { identity: "pod-1", version: "0.1.0" }],
  ["the leader without a version if the Go implementation wrote the Lease", lease({}, {}), { identity: "pod-1" }],
  ["the leader if the Lease expires now", lease({ leaseDurationSeconds: 10 }), { identity: "pod-1", version: "0.1.0" }],
  ["undefined if the Lease is expired", lease({ leaseDurationSeconds: 9 }), undefined],
  ["undefined if the Lease is released", lease({ holderIdentity: "", leaseDurationSeconds: 1 }), undefined],
  ["undefined if the Lease was never renewed", { ...LEASE, metadata: { name: "lock" }, spec: { holderIdentity: "pod-1" } }, undefined],
  ["undefined if the renew time is malformed", lease({ renewTime: "soon" }), undefined],
  ["undefined if the Lease has no spec", { ...LEASE, metadata: { name: "lock" } }, undefined],
  ["undefined if the Lease does not exist", undefined, undefined],
])("findLeader returns %s", ([, live, leader]) => {
  expect(findLeader(live, NOW)).toEqual(leader);
});
