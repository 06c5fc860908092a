import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { findBackupFaults } from "./backup.ts";

const of = (kind: string, filling: string): KubeObject => ({
  apiVersion: "operators.coreos.com/v1alpha1",
  kind,
  metadata: { name: "p.v1", namespace: "ns" },
  spec: { description: filling },
});
const small = { csv: of("ClusterServiceVersion", "x".repeat(1_400_000)), subscription: of("Subscription", "x"), group: undefined };

test("findBackupFaults reports nothing for a large object that is small enough after compression", () => {
  expect(findBackupFaults(small)).toEqual([]);
});

test("findBackupFaults reports objects that are too large to back up", () => {
  const csv = of("ClusterServiceVersion", randomBytes(1_050_000).toString("base64"));
  expect(findBackupFaults({ ...small, csv })).toEqual([
    expect.stringMatching(/^ClusterServiceVersion ns\/p\.v1 is too large for a Secret: \d+ bytes after compression$/),
  ]);
  expect(findBackupFaults({ ...small, group: of("OperatorGroup", "x".repeat(200_000)) })).toEqual([
    'OperatorGroup "ns/p.v1" is too large for a backup in an annotation',
  ]);
});
