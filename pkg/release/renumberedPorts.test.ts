import { describe, expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findDriftedFields } from "./drift.ts";
import { findRenumberedPorts } from "./renumberedPorts.ts";

const OURS = "olm.operatorframework.io";
const entry = (manager: string, operation: string, fieldsV1: JsonObject): JsonObject => ({
  manager,
  operation,
  apiVersion: "v1",
  fieldsV1,
});
const port = (number: number): string => `k:{"port":${number},"protocol":"TCP"}`;
const WHOLE = { ".": {}, "f:name": {}, "f:port": {}, "f:targetPort": {} };

function service(ports: JsonObject[], managedFields: JsonObject[] = []): KubeObject {
  return { apiVersion: "v1", kind: "Service", metadata: { name: "s", managedFields }, spec: { ports, type: "ClusterIP" } };
}

const WANTED = service([{ name: "metrics", port: 8080, targetPort: "metrics" }]);
const EDITED = service(
  [{ name: "metrics", port: 9999, protocol: "TCP", targetPort: "metrics" }],
  [
    entry(OURS, "Apply", { "f:spec": { "f:ports": {}, "f:type": {} } }),
    entry("kubectl-edit", "Update", { "f:spec": { "f:ports": { ".": {}, [port(9999)]: WHOLE } } }),
  ],
);

// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy, and managed fields on an API server after `kubectl
// edit`.
describe("findRenumberedPorts", () => {
  test("findRenumberedPorts moves a renumbered port to our managed fields, so that the next apply removes the port", () => {
    expect(findRenumberedPorts(WANTED, EDITED)?.managedFields).toEqual([
      entry(OURS, "Apply", { "f:spec": { "f:ports": { [port(9999)]: WHOLE }, "f:type": {} } }),
      entry("kubectl-edit", "Update", { "f:spec": { "f:ports": { ".": {} } } }),
    ]);
  });

  test("findRenumberedPorts returns the object after the next apply, from which the drift and its manager can be reported", () => {
    const after = findRenumberedPorts(WANTED, EDITED)?.after;
    expect(after?.["spec"]).toEqual({
      ports: [{ name: "metrics", port: 8080, protocol: "TCP", targetPort: "metrics" }],
      type: "ClusterIP",
    });
    expect(after && findDriftedFields(EDITED, after)).toEqual([{ path: "spec.ports[name=metrics].port", managers: ["kubectl-edit"] }]);
  });

  test("findRenumberedPorts finds container ports in the Pod template of a workload", () => {
    const deployment = (containerPort: number, managedFields: JsonObject[]): KubeObject => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d", managedFields },
      spec: { template: { spec: { containers: [{ name: "a" }, { name: "b", ports: [{ name: "m", containerPort, protocol: "UDP" }] }] } } },
    });
    const inContainer = (fields: JsonObject): JsonObject => ({
      "f:spec": { "f:template": { "f:spec": { "f:containers": { 'k:{"name":"b"}': { "f:ports": fields } } } } },
    });
    const key = 'k:{"containerPort":9999,"protocol":"UDP"}';
    const live = deployment(9999, [
      entry(OURS, "Apply", inContainer({})),
      entry("somebody", "Update", inContainer({ [key]: { ".": {} } })),
    ]);
    expect(findRenumberedPorts(deployment(8080, []), live)?.managedFields).toEqual([
      entry(OURS, "Apply", inContainer({ [key]: { ".": {} } })),
      entry("somebody", "Update", inContainer({})),
    ]);
  });
});

describe("findRenumberedPorts returns nothing", () => {
  const other = { name: "extra", port: 9999, protocol: "TCP" };
  const { managedFields = [] } = EDITED.metadata;
  test.each([
    ["when a port with another name was added", WANTED, service([{ name: "metrics", port: 8080, protocol: "TCP" }, other], managedFields)],
    ["when all ports are as desired", WANTED, service([{ name: "metrics", port: 8080, protocol: "TCP" }], managedFields)],
    ["for an object that we never applied", WANTED, service([{ name: "metrics", port: 9999 }], managedFields.slice(1))],
    ["for an object without ports", { ...WANTED, spec: {} }, EDITED],
  ])("%s", (_, wanted, live) => {
    expect(findRenumberedPorts(wanted, live)).toBeUndefined();
  });
});
