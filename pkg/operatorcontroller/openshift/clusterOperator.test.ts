import { expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { chooseGateMode, OLM } from "./clusterOperator.ts";

const olm = (managementState: string): { kind: "present"; object: KubeObject } => ({
  kind: "present",
  object: { ...OLM, metadata: { name: "cluster" }, spec: { managementState } },
});
const ABSENT = { kind: "absent" } as const;
const NOT_SERVED = { kind: "notServed" } as const;
const UNREADABLE = { kind: "unreadable", reason: "forbidden" } as const;
const UNKNOWN = { kind: "unknown" } as const;

// Source: G-01, G-04 and G-05.
test.for([
  ["off", ABSENT, ABSENT, "inactive"],
  ["auto", NOT_SERVED, NOT_SERVED, "inactive"],
  ["on", NOT_SERVED, NOT_SERVED, "inactive"],
  ["auto", UNKNOWN, ABSENT, "undecided"],
  ["auto", ABSENT, UNKNOWN, "undecided"],
  ["on", ABSENT, UNKNOWN, "undecided"],
  ["auto", ABSENT, NOT_SERVED, "active"],
  ["auto", ABSENT, ABSENT, "active"],
  ["auto", UNREADABLE, ABSENT, "active"],
  ["auto", ABSENT, UNREADABLE, "inactive"],
  ["auto", ABSENT, olm("Managed"), "inactive"],
  ["auto", ABSENT, olm("Unmanaged"), "inactive"],
  ["on", ABSENT, ABSENT, "active"],
  ["on", ABSENT, UNREADABLE, "active"],
  ["on", ABSENT, olm("Managed"), "active"],
  ["on", ABSENT, olm("Unmanaged"), "active, unmanaged"],
] as const)(
  "chooseGateMode with --cluster-operator=%s, ClusterOperator %o and OLM %o returns %s",
  ([flag, clusterOperator, configuration, expected]) => {
    const mode = chooseGateMode(flag, clusterOperator, configuration);
    expect(mode.kind + (mode.kind === "active" && mode.unmanaged ? ", unmanaged" : "")).toBe(expected);
    expect(mode.reason).not.toBe("");
  },
);
