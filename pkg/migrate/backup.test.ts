import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { backupFaults } from "./backup.ts";

const of = (kind: string, filling: string): KubeObject => ({
  apiVersion: "operators.coreos.com/v1alpha1",
  kind,
  metadata: { name: "p.v1", namespace: "ns" },
  spec: { description: filling },
});
const small = { csv: of("ClusterServiceVersion", "x".repeat(1_400_000)), subscription: of("Subscription", "x"), group: undefined };

test("what is large and can be packed is kept", () => {
  expect(backupFaults(small)).toEqual([]);
});

test("what can be kept nowhere is told before anything is written", () => {
  const csv = of("ClusterServiceVersion", randomBytes(1_050_000).toString("base64"));
  expect(backupFaults({ ...small, csv })).toEqual([
    expect.stringMatching(/^ClusterServiceVersion ns\/p\.v1 is too large for a Secret even when it is packed, with \d+ bytes$/),
  ]);
  expect(backupFaults({ ...small, group: of("OperatorGroup", "x".repeat(200_000)) })).toEqual([
    'OperatorGroup "ns/p.v1" is too large to be backed up in an annotation',
  ]);
});
