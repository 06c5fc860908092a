import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { KubeError } from "../kube/errors.ts";
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

/** An API server with one Thing at most. */
class ThingApi {
  live: KubeObject | undefined;
  /** Errors of the next writes of a status. */
  readonly faults: Error[] = [];

  get = async <T extends KubeObject>({ kind }: ObjectRef): Promise<T | undefined> => (kind === "Thing" ? this.live : CRD) as T | undefined;

  create = async <T extends KubeObject>(object: T): Promise<T> => {
    if (this.live) throw new KubeError("exists", { status: 409, reason: "AlreadyExists" });
    this.live = { ...object, metadata: { ...object.metadata, uid: "new" } };
    return this.live as T;
  };

  patch = async <T extends KubeObject>(_: ObjectRef, body: unknown): Promise<T> => {
    const fault = this.faults.shift();
    if (fault) throw fault;
    this.live = { ...THING, ...this.live, ...(body as object) };
    return this.live as T;
  };
}

async function restore(api: ThingApi): Promise<RestoreCount> {
  using folder = new TempFolder();
  const path = join(folder.path, "backup.gz");
  const head = { extension: "e", createdAt: "2026-01-01T00:00:00Z" };
  async function* items(): AsyncGenerator<KubeObject> {
    yield* [CRD, THING];
  }
  await writeBackupFile(path, head, items());
  return (await restoreBackup(api, { path, dryRun: false, signal: new AbortController().signal })).count;
}

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
