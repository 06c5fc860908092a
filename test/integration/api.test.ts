import { json } from "node:stream/consumers";
import { beforeAll, describe, expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { buildCrd, KINDS } from "../../pkg/api/customResourceDefinitions.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { KubeError } from "../../pkg/kube/errors.ts";
import { mergeValues } from "../../pkg/render/configSources.ts";
import { type AdmissionCase, admissionCases } from "../support/admissionCases.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";

/** The API server adds this text to every error that keeps it from evaluating the rules. */
const RULES_SKIPPED = "some validation rules were not checked because the object was invalid";

describeWithCluster("ClusterExtension and ClusterCatalog on the API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  describe.concurrent("admission of API objects", () => {
    test.for(admissionCases())("$title", async (row) => {
      const outcome = await attempt(cluster, row).catch((err: unknown) => err);
      if (row.errors.length > 0) expectRefusal(outcome, row.errors);
      else expectAccepted(outcome, row);
    });
  });

  test("the API server drops an unknown field without strict validation", async () => {
    const [smallest] = admissionCases().filter(({ kind, on }) => kind === "ClusterExtension" && on === "create");
    const object = { ...smallest?.before, metadata: { name: cluster.name("pruned") } };
    const stored = await create(cluster, mergeValues(object, { spec: { nonsense: 1 } }) as KubeObject, "fieldValidation=Ignore");
    expect(stored["spec"]).not.toHaveProperty("nonsense");
  });

  test("kubectl get prints the columns of the Go implementation, and columns for readiness, updates and catalog content before the age", async () => {
    for (const [plural, columns, wide] of [
      [
        "clusterextensions",
        ["Name", "Installed Bundle", "Version", "Installed", "Progressing", "Ready", "Update", "Age"],
        ["Catalog", "Channel"],
      ],
      ["clustercatalogs", ["Name", "LastUnpacked", "Serving", "Reason", "Packages", "Digest", "Age"], []],
    ] as const) {
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const response = await cluster.client.request("GET", `/apis/${API_VERSION}/${plural}`, { headers });
      const table = (await json(response.body)) as { columnDefinitions: { name: string; priority: number }[] };
      const printColumns = (wide: boolean): string[] =>
        table.columnDefinitions.filter(({ priority }) => priority > 0 === wide).map(({ name }) => name);
      expect([printColumns(false), printColumns(true)]).toEqual([columns, wide]);
    }
  });

  test("the API server accepts updates of an existing object that violates newer validation rules, but rejects new violations", async () => {
    const group = `${cluster.name("takeover")}.example.com`;
    const crd = buildCrd(KINDS[0]!);
    const names = { metadata: { name: `clusterextensions.${group}` }, spec: { group } };
    const strict = mergeValues(crd, names) as KubeObject & { spec: { versions: { schema: { openAPIV3Schema: JsonObject } }[] } };
    const lenient = structuredClone(strict);
    delete lenient.spec.versions[0]?.schema.openAPIV3Schema["x-kubernetes-validations"];
    const apiVersion = `${group}/v1`;
    const named = { withoutSpec: "no-spec", long: "x".repeat(54) };
    const spec = admissionCases().find(({ kind }) => kind === "ClusterExtension")?.before["spec"];
    try {
      await cluster.client.create(lenient);
      for (const name of Object.values(named)) {
        const object = { apiVersion, kind: "ClusterExtension", metadata: { name, finalizers: ["example.com/hold"] } };
        await eventually(() => cluster.client.create(name === named.long ? { ...object, spec } : object));
      }
      await cluster.client.apply(strict, { fieldManager: "test", force: true });
      await eventually(() =>
        expectRefused(cluster.client.create({ apiVersion, kind: "ClusterExtension", metadata: { name: "x" } }), ["spec is required"]),
      );

      const ref = (name: string): ObjectRef => ({ apiVersion, kind: "ClusterExtension", name });
      await expectRefused(cluster.client.patch(ref(named.long), { spec: null }, { type: "merge" }), ["spec is required"]);
      for (const name of Object.values(named)) {
        const released = await cluster.client.patch(ref(name), { metadata: { finalizers: null } }, { type: "merge" });
        expect(released.metadata.finalizers).toBeUndefined();
      }
      await cluster.client.patch(ref(named.withoutSpec), { spec }, { type: "merge" });
      await expectRefused(cluster.client.patch(ref(named.withoutSpec), { spec: null }, { type: "merge" }), ["spec is required"]);
    } finally {
      await cluster.client.delete({ ...crd, name: names.metadata.name });
    }
  });
});

/** Submits the object of the row as a dry run, or deletes it afterwards. */
async function attempt(cluster: TestCluster, { kind, on, before, patch }: AdmissionCase): Promise<KubeObject> {
  const named = mergeValues({ ...before, metadata: { name: cluster.name("api") } }, on === "create" ? patch : {}) as KubeObject;
  if (on === "create") return create(cluster, named, "dryRun=All&fieldValidation=Strict");
  const { status: _, ...withoutStatus } = named;
  const { name } = (await cluster.client.create(withoutStatus)).metadata;
  const ref = { apiVersion: API_VERSION, kind, name };
  try {
    if (on === "update") return await cluster.client.patch(ref, patch, { type: "merge", dryRun: true });
    const status = mergeValues({ status: before["status"] }, patch);
    return await cluster.client.patch(ref, status, { type: "merge", dryRun: true, subresource: "status" });
  } finally {
    await cluster.client.delete(ref);
  }
}

async function create(cluster: TestCluster, object: KubeObject, query: string): Promise<KubeObject> {
  const { resource } = await cluster.client.resourceFor(object);
  return (await cluster.client.raw("POST", `/apis/${object.apiVersion}/${resource}?${query}`, object)) as KubeObject;
}

function expectAccepted(outcome: unknown, { path, want }: AdmissionCase): void {
  expect(outcome).not.toBeInstanceOf(Error);
  if (want === undefined) return;
  const found = path.reduce((at: unknown, member) => (at as JsonObject | undefined)?.[member], outcome);
  if (want === null) expect(found).toBeUndefined();
  else if (typeof want === "object") expect(found).toMatchObject(want);
  else expect(found).toEqual(want);
}

/** Expects every text in the message, and no cause about another field. */
function expectRefusal(outcome: unknown, errors: readonly string[]): void {
  expect(outcome).toBeInstanceOf(KubeError);
  const { message, details } = outcome as KubeError;
  for (const error of errors) expect(message).toContain(error);
  const causes = (details?.["causes"] ?? []) as { field: string; message: string }[];
  const texts = causes.map(({ field, message: text }) => `${field}: ${text}`).filter((text) => !text.includes(RULES_SKIPPED));
  expect(texts.filter((text) => !errors.some((error) => text.includes(error)))).toEqual([]);
}

async function expectRefused(outcome: Promise<unknown>, errors: readonly string[]): Promise<void> {
  expectRefusal(await outcome.catch((err: unknown) => err), errors);
}
