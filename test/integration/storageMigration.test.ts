import { expect, test } from "vitest";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { migrateStorage, patchStoredVersions } from "../../pkg/operatorcontroller/crds/storageMigration.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { olmv1 } from "../support/runCli.ts";

/** More than one page of the list. */
const OBJECTS = 620;
const PARALLEL = 16;
const RATE = 10_000;

interface Versions {
  readonly storage: string;
  readonly served: readonly string[];
}

describeWithCluster("the storage migration of a CRD", (cluster) => {
  const { client } = cluster;
  const signal = AbortSignal.timeout(300_000);

  function definition(group: string, { storage, served }: Versions): KubeObject {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `gauges.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names: { kind: "Gauge", plural: "gauges", singular: "gauge", listKind: "GaugeList" },
        versions: served.map((name) => ({ name, served: true, storage: name === storage, schema })),
      },
    };
  }

  async function define(group: string, versions: Versions): Promise<KubeObject> {
    const crd = await client.apply(definition(group, versions), { fieldManager: "test", force: true });
    await waitForDefinition(client, crd);
    return crd;
  }

  /** Creates custom resources in v1alpha1, and changes the storage version to v1. */
  async function createStored(group: string, count: number): Promise<KubeObject> {
    await define(group, { storage: "v1alpha1", served: ["v1alpha1", "v1"] });
    const names = Array.from({ length: count }, (_, i) => `gauge-${i}`);
    await mapInParallel(names, PARALLEL, (name) =>
      client.create({ apiVersion: `${group}/v1alpha1`, kind: "Gauge", metadata: { name }, spec: { unit: "m" } }),
    );
    await define(group, { storage: "v1", served: ["v1alpha1", "v1"] });
    return requireDefinition(group, ["v1alpha1", "v1"]);
  }

  async function requireDefinition(group: string, storedVersions: readonly string[]): Promise<KubeObject> {
    return eventually(async () => {
      const live = await client.get(toObjectRef(definition(group, { storage: "v1", served: ["v1"] })));
      expect(live?.["status"]).toMatchObject({ storedVersions });
      return live as KubeObject;
    });
  }

  const listGauges = async (group: string): Promise<KubeObject[]> =>
    (await client.list({ apiVersion: `${group}/v1`, kind: "Gauge" })).items;

  test("without a migration, custom resources cannot be read after their version is removed", async () => {
    const group = "unmigrated.example.com";
    const crd = await createStored(group, 1);
    await patchStoredVersions(client, crd, ["v1"], { signal });
    await client.apply(definition(group, { storage: "v1", served: ["v1"] }), { fieldManager: "test", force: true });
    await eventually(() => expect(listGauges(group)).rejects.toThrow(/v1alpha1/));
    // The API server cannot delete this CRD, and before https://github.com/kubernetes/kubernetes/pull/125796 the garbage collector of the shared control
    // plane waits until it can list all objects.
    await define(group, { storage: "v1", served: ["v1alpha1", "v1"] });
    await eventually(() => listGauges(group));
    await client.delete(toObjectRef(crd));
    await eventually(async () => expect(await client.get(toObjectRef(crd))).toBeUndefined());
  });

  test("an interrupted migration resumes, and afterwards all custom resources can be read without the old version", async () => {
    const group = "migrated.example.com";
    const crd = await createStored(group, OBJECTS);
    const stop = new AbortController();
    const interrupted = migrateStorage(client, crd, { rate: RATE, signal: stop.signal, report: () => stop.abort(new Error("stopped")) });
    await expect(interrupted).rejects.toThrow();
    await requireDefinition(group, ["v1alpha1", "v1"]);
    const counts: number[] = [];
    const count = await migrateStorage(client, crd, { rate: RATE, signal, report: ({ migrated }) => void counts.push(migrated) });
    expect(count).toEqual({ migrated: OBJECTS, failed: 0, errors: [] });
    expect(counts).toEqual([500, OBJECTS]);
    await requireDefinition(group, ["v1"]);
    await client.apply(definition(group, { storage: "v1", served: ["v1"] }), { fieldManager: "test", force: true });
    await eventually(async () => {
      const found = await listGauges(group);
      expect(found).toHaveLength(OBJECTS);
      expect(found.every(({ spec }) => JSON.stringify(spec) === '{"unit":"m"}')).toBe(true);
    });
    await client.delete(toObjectRef(crd));
  });

  test("olmv1 crd migrate lists rejected custom resources, and keeps the stored version until they are accepted", async () => {
    const group = "rejected.example.com";
    const crd = await createStored(group, 3);
    const run = async (...args: string[]): Promise<unknown[]> => {
      const { code, out } = await olmv1("crd", "migrate", crd.metadata.name, "--kubeconfig", cluster.kubeconfig, ...args);
      return [code, out];
    };
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "rejected-gauges" },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: [group], apiVersions: ["*"], operations: ["UPDATE"], resources: ["gauges"] }] },
        validations: [{ expression: 'object.metadata.name != "gauge-1"', message: "gauge-1 is frozen" }],
      },
    };
    const binding = {
      apiVersion: policy.apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: policy.metadata,
      spec: { policyName: policy.metadata.name, validationActions: ["Deny"] },
    };
    for (const object of [policy, binding]) await client.apply(object, { fieldManager: "test", force: true });
    const frozen = { apiVersion: `${group}/v1`, kind: "Gauge", name: "gauge-1" };
    await eventually(() => expect(client.patch(frozen, { a: 1 }, { type: "merge", dryRun: true })).rejects.toThrow("gauge-1 is frozen"));
    expect(await run("--dry-run")).toEqual([
      0,
      `CRD gauges.${group}: custom resources may be stored in v1alpha1, and would be stored in version v1\n`,
    ]);
    const [code, out] = await run();
    expect(code).toBe(1);
    expect(out).toMatch(/rejected 1 of 3 custom resources:\n {2}gauge-1: .*gauge-1 is frozen\nstatus.storedVersions is unchanged/);
    await requireDefinition(group, ["v1alpha1", "v1"]);
    for (const object of [binding, policy]) await client.delete(toObjectRef(object));
    await eventually(() => client.patch(frozen, { a: 1 }, { type: "merge", dryRun: true }));
    expect(await run()).toEqual([
      0,
      `CRD gauges.${group}: 3 custom resources stored in version v1; removed v1alpha1 from status.storedVersions\n`,
    ]);
    expect(await run()).toEqual([0, `CRD gauges.${group}: all custom resources are stored in version v1\n`]);
    await client.delete(toObjectRef(crd));
  });

  test("olmv1 crd migrate fails when the CRD does not exist", async () => {
    const { code, err } = await olmv1("crd", "migrate", "none.example.com", "--kubeconfig", cluster.kubeconfig);
    expect([code, err]).toEqual([2, expect.stringContaining('CRD "none.example.com" does not exist. List CRDs with kubectl get crds')]);
  });
});
