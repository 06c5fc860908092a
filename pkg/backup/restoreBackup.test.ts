import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { KubeObject, ObjectRef, OwnerReference } from "../api/k8s.ts";
import { KindNotServed, KubeError } from "../kube/errors.ts";
import { writeBackupFile } from "./backupFile.ts";
import { type RestoreCount, restoreBackup } from "./restoreBackup.ts";

const CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com", uid: "crd" },
  spec: {
    group: "example.com",
    names: { kind: "Thing" },
    versions: [{ name: "v1", served: true, subresources: { status: {} } }],
  },
};
const THING: KubeObject = {
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "a", namespace: "n", uid: "old" },
  status: { phase: "Ready" },
};

/** An API server with Things and ConfigMaps by name. */
class ThingApi {
  readonly objects = new Map<string, KubeObject>();
  /** Errors of the next writes of a status. */
  readonly faults: Error[] = [];
  /** Errors of reading and creating an object, by its name. */
  readonly readFaults = new Map<string, Error>();
  readonly createFaults = new Map<string, Error>();

  get live(): KubeObject | undefined {
    return this.objects.get("a");
  }

  set live(object: KubeObject) {
    this.objects.set("a", object);
  }

  get = async <T extends KubeObject>({ kind, name }: ObjectRef): Promise<T | undefined> => {
    const fault = this.readFaults.get(name);
    if (fault) throw fault;
    return (kind === CRD.kind ? CRD : this.objects.get(name)) as T | undefined;
  };

  create = async <T extends KubeObject>(object: T): Promise<T> => {
    const { name } = object.metadata;
    const fault = this.createFaults.get(name);
    if (fault) throw fault;
    if (this.objects.has(name)) throw alreadyExists();
    this.objects.set(name, { ...object, metadata: { ...object.metadata, uid: `new ${name}` } });
    return this.objects.get(name) as T;
  };

  patch = async <T extends KubeObject>({ name }: ObjectRef, body: unknown): Promise<T> => {
    const fault = this.faults.shift();
    if (fault) throw fault;
    const patched = { ...THING, ...this.objects.get(name), ...(body as object) };
    this.objects.set(name, patched);
    return patched as T;
  };

  getOwners(name: string): string[] | undefined {
    const object = this.objects.get(name);
    return object && (object.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  }
}

async function restore(api: ThingApi, things: readonly KubeObject[] = [THING]): Promise<RestoreCount> {
  using folder = new TempFolder();
  const path = join(folder.path, "backup.gz");
  const head = { extension: "e", createdAt: "2026-01-01T00:00:00Z" };
  async function* items(): AsyncGenerator<KubeObject> {
    yield* [CRD, ...things];
  }
  await writeBackupFile(path, head, items());
  return (await restoreBackup(api, { path, dryRun: false, signal: new AbortController().signal })).count;
}

const thing = (name: string, ...owners: OwnerReference[]): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name, namespace: "n", uid: `old ${name}`, ownerReferences: owners },
});
const ownedBy = (name: string): OwnerReference => ({ apiVersion: "example.com/v1", kind: "Thing", name, uid: `old ${name}` });
const SETTINGS: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "settings", uid: "old settings" };

const alreadyExists = (): KubeError => new KubeError("exists", { status: 409, reason: "AlreadyExists" });
const unavailable = (): KubeError => new KubeError("the server is overloaded", { status: 429, reason: "TooManyRequests", retryAfterMs: 1 });
const invalid = (): KubeError => new KubeError("phase is unknown", { status: 422, reason: "Invalid" });

test("a restore writes the status again when the API server was overloaded", async () => {
  const api = new ThingApi();
  api.faults.push(unavailable(), unavailable());
  expect(await restore(api)).toMatchObject({ created: 1, failed: 0, errors: [] });
  expect(api.live?.["status"]).toEqual(THING["status"]);
});

test("a restore reports a custom resource whose status the API server rejects", async () => {
  const api = new ThingApi();
  api.faults.push(invalid());
  expect(await restore(api)).toMatchObject({ failed: 1, errors: ["Thing n/a: status not restored: phase is unknown"] });
});

test("a repeated restore writes the status that a restore before has not written", async () => {
  const api = new ThingApi();
  api.live = { ...THING, status: {} };
  expect(await restore(api)).toMatchObject({ created: 0, existing: 1, failed: 0 });
  expect(api.live["status"]).toEqual(THING["status"]);
});

test("a restore keeps the status of a custom resource that exists", async () => {
  const api = new ThingApi();
  api.live = { ...THING, status: { phase: "Running" } };
  expect(await restore(api)).toMatchObject({ created: 0, existing: 1, failed: 0 });
  expect(api.live["status"]).toEqual({ phase: "Running" });
});

test("a restore does not use an existing custom resource as owner when it is being deleted", async () => {
  const api = new ThingApi();
  api.objects.set("owner", {
    ...thing("owner"),
    metadata: { name: "owner", namespace: "n", uid: "dying", deletionTimestamp: "2026-01-01T00:00:00Z" },
  });
  const things = [thing("owner"), thing("dependent", ownedBy("owner"))];
  expect(await restore(api, things)).toMatchObject({
    created: 0,
    existing: 0,
    failed: 2,
    errors: [
      "Thing n/owner: it is being deleted. Run the command again when it is gone",
      "Thing n/dependent: not created, because its owner Thing n/owner is not restored",
    ],
  });
  expect(api.objects.has("dependent")).toBe(false);
  api.objects.delete("owner");
  expect(await restore(api, things)).toMatchObject({ created: 2, failed: 0 });
  expect(api.getOwners("dependent")).toEqual(["new owner"]);
});

test("a restore does not create a dependent when an owner outside of the backup is being deleted", async () => {
  const api = new ThingApi();
  const metadata = { name: "settings", namespace: "n", uid: "dying", deletionTimestamp: "2026-01-01T00:00:00Z" };
  api.objects.set("settings", { apiVersion: "v1", kind: "ConfigMap", metadata });
  expect(await restore(api, [thing("dependent", SETTINGS)])).toMatchObject({
    created: 0,
    failed: 1,
    errors: ["Thing n/dependent: owner ConfigMap n/settings is being deleted. Run the command again when it is gone"],
  });
});

test("a restore creates a custom resource when it vanishes during the restore", async () => {
  const api = new ThingApi();
  api.createFaults.set("a", alreadyExists());
  const { get } = api;
  api.get = async (ref) => {
    if (ref.name === "a") api.createFaults.delete("a");
    return get(ref);
  };
  expect(await restore(api)).toMatchObject({ created: 1, existing: 0, failed: 0 });
  expect(api.live?.["status"]).toEqual(THING["status"]);
});

test("a restore does not create a dependent when the backup contains an owner that cannot be created", async () => {
  const api = new ThingApi();
  api.createFaults.set("owner", invalid());
  const things = [thing("dependent", ownedBy("owner")), thing("leaf", ownedBy("dependent")), thing("owner")];
  expect(await restore(api, things)).toMatchObject({
    created: 0,
    failed: 3,
    removedOwners: 0,
    errors: [
      "Thing n/owner: phase is unknown",
      "Thing n/dependent: not created, because its owner Thing n/owner is not restored",
      "Thing n/leaf: not created, because its owner Thing n/dependent is not restored",
    ],
  });
  api.createFaults.clear();
  expect(await restore(api, things)).toMatchObject({ created: 3, failed: 0, removedOwners: 0 });
  expect([api.getOwners("dependent"), api.getOwners("leaf")]).toEqual([["new owner"], ["new dependent"]]);
});

test("a restore keeps an existing dependent as owner when its own owner cannot be created", async () => {
  const api = new ThingApi();
  api.createFaults.set("owner", invalid());
  api.objects.set("dependent", { ...thing("dependent"), metadata: { name: "dependent", namespace: "n", uid: "live" } });
  const things = [thing("owner"), thing("dependent", ownedBy("owner")), thing("leaf", ownedBy("dependent"))];
  expect(await restore(api, things)).toMatchObject({ created: 1, existing: 1, failed: 1 });
  expect(api.getOwners("leaf")).toEqual(["live"]);
});

test("a restore creates all custom resources when they own each other", async () => {
  const api = new ThingApi();
  expect(await restore(api, [thing("x", ownedBy("y")), thing("y", ownedBy("x"))])).toMatchObject({ created: 2, failed: 0 });
});

test.for<[err: Error | undefined, expected: Partial<RestoreCount>]>([
  [undefined, { created: 1, failed: 0, removedOwners: 1 }],
  [new KubeError("not found", { status: 404, reason: "NotFound" }), { created: 1, failed: 0, removedOwners: 1 }],
  [new KubeError("denied", { status: 403, reason: "Forbidden" }), { created: 1, failed: 0, removedOwners: 1 }],
  [new KindNotServed("v1", "ConfigMap"), { created: 1, failed: 0, removedOwners: 1 }],
  [
    new KubeError("etcd is slow", { status: 500, reason: "InternalError" }),
    {
      created: 0,
      failed: 1,
      removedOwners: 0,
      errors: ["Thing n/dependent: cannot read owner ConfigMap n/settings: etcd is slow"],
    },
  ],
  [
    new Error("socket hang up"),
    { created: 0, failed: 1, removedOwners: 0, errors: ["Thing n/dependent: cannot read owner ConfigMap n/settings: socket hang up"] },
  ],
])("a restore removes a reference only if its owner does not exist or is not readable when the error is %s", async ([err, expected]) => {
  const api = new ThingApi();
  if (err) api.readFaults.set("settings", err);
  expect(await restore(api, [thing("dependent", SETTINGS)])).toMatchObject(expected);
});
