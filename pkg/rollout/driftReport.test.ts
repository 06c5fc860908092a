import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import { releaseRecord } from "../../test/support/releases.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { KubeError } from "../kube/errors.ts";
import { encodeRelease } from "../release/storage/encode.ts";
import { readDriftReport } from "./driftReport.ts";

const SYSTEM = "olmv1-system";
const container = (level: string) => ({ name: "manager", args: [`--level=${level}`] });
const deployment = (replicas: number, level: string): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "b", namespace: "a" },
  spec: { replicas, template: { spec: { containers: [container(level)] } } },
});
const LIVE: KubeObject = {
  ...deployment(3, "debug"),
  metadata: {
    name: "b",
    namespace: "a",
    managedFields: [
      {
        manager: "kubectl-edit",
        operation: "Update",
        apiVersion: "apps/v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { "f:replicas": {} } },
      },
    ],
  },
};
const FIELDS = ["spec.replicas", "spec.template.spec.containers[name=manager].args[0]"];
const BASE = createExtension("grafana", { packageName: "grafana" });
const EXTENSION = {
  ...BASE,
  metadata: { name: "grafana", uid: "u1" },
  spec: { ...BASE.spec, drift: { policy: "Warn" as const } },
  status: {
    inventory: { count: 1, objects: [{ group: "apps", version: "v1", kind: "Deployment", namespace: "a", name: "b" }] },
    problems: [
      {
        type: "DriftDetected",
        severity: "Warning" as const,
        message: "drift",
        details: { objects: [{ group: "apps", kind: "Deployment", namespace: "a", name: "b", message: "changed", fields: FIELDS }] },
      },
    ],
  },
};

function createRelease(): KubeObject {
  const owner = { name: "grafana", uid: "u1" };
  const [index] = encodeRelease(releaseRecord(1, "deployed", { name: "grafana", objects: [deployment(1, "info")] }), {
    systemNamespace: SYSTEM,
    owner,
  });
  if (!index) throw new Error("no index Secret");
  return { ...index, metadata: { ...index.metadata, ownerReferences: [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, ...owner }] } };
}

function createClient(denied: readonly string[] = []): never {
  const objects = [LIVE, createRelease()];
  const deny = (kind: string): void => {
    if (denied.includes(kind)) throw new KubeError(`reading ${kind} is forbidden`, { status: 403, reason: "Forbidden" });
  };
  const client = {
    get: async ({ kind, name }: { kind: string; name: string }) => (
      deny(kind), objects.find((one) => one.kind === kind && one.metadata.name === name)
    ),
    list: async ({ kind }: { kind: string }) => (deny(kind), { items: objects.filter((one) => one.kind === kind), resourceVersion: "1" }),
  };
  return client as never;
}

test("readDriftReport adds values, field managers and rules that ignore the drift", async () => {
  const { policy, objects, ignore } = await readDriftReport(createClient(), EXTENSION, SYSTEM);
  expect(policy).toEqual({ policy: "Warn", isTakenOver: false });
  expect(objects).toMatchObject([
    {
      kind: "Deployment",
      what: "changed",
      fields: [
        { path: FIELDS[0], managers: ["kubectl-edit"], live: "3", released: "1", pointer: "/spec/replicas" },
        {
          path: FIELDS[1],
          managers: [],
          live: '"--level=debug"',
          released: '"--level=info"',
          pointer: "/spec/template/spec/containers/0/args",
        },
      ],
    },
  ]);
  expect(ignore).toEqual([
    {
      target: { group: "apps", kind: "Deployment", namespace: "a", name: "b" },
      paths: ["/spec/replicas", "/spec/template/spec/containers/0/args"],
    },
  ]);
});

test.for<[denied: string, live: string | undefined, released: string | undefined]>([
  ["Secret", "3", undefined],
  ["Deployment", undefined, "1"],
])("readDriftReport omits values when reading a %s is forbidden", async ([denied, live, released]) => {
  const { objects } = await readDriftReport(createClient([denied]), EXTENSION, SYSTEM);
  const [field] = objects[0]?.fields ?? [];
  expect([field?.path, field?.live, field?.released]).toEqual(["spec.replicas", live, released]);
  expect([objects[0]?.hasLive, objects[0]?.hasReleased]).toEqual([live !== undefined, released !== undefined]);
});

test("readDriftReport reads nothing when the status reports no drift", async () => {
  const { status: _, ...clean } = EXTENSION;
  const { policy, objects, ignore } = await readDriftReport({} as never, { ...clean, spec: BASE.spec }, SYSTEM);
  expect([policy.policy, objects, ignore]).toEqual(["Correct", [], []]);
});
