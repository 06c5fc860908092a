import { expect, test } from "vitest";
import { MemoryReleases, RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { createObjectSet, type ObjectSetInput, packObjects } from "../../../test/support/goOlm/objectSet.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { FINALIZER_UNINSTALL } from "../../api/constants.ts";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { ObjectSetImport } from "./objectSetImport.ts";

const X: ClusterExtension = {
  ...createExtension("x", { packageName: "p" }),
  metadata: { name: "x", uid: "u", finalizers: [FINALIZER_UNINSTALL] },
};
const { signal } = new AbortController();
const { secret, phase } = packObjects("x-1", "x", [configMap("a"), configMap("b")]);

/** Creates a set with a uid, which is complete unless a status is given. */
function storedSet(parts: Partial<ObjectSetInput> = {}): KubeObject {
  const set = createObjectSet({ owner: "x", bundle: "p.v1.0.0", ...parts });
  const metadata = { ...set.metadata, uid: `uid of ${set.metadata.name}`, creationTimestamp: "2026-01-01T00:00:00Z" };
  return { ...set, metadata, status: { conditions: [{ type: "Succeeded", status: "True" }] } };
}

/** Runs the import with a client that only has these objects. @returns the releases, the Events and the read Secrets */
async function runImport(
  sets: readonly KubeObject[] | undefined,
  objects: readonly KubeObject[] = [],
  releases = new MemoryReleases(),
  extension = X,
) {
  const secrets: string[] = [];
  const find = ({ kind, name }: ObjectRef): KubeObject | undefined => {
    if (kind === "Secret") secrets.push(name);
    return [...(sets ?? []), ...objects].find((object) => object.kind === kind && object.metadata.name === name);
  };
  const refuse = (): Promise<never> => Promise.reject(new Error("an import deletes nothing"));
  const patch = <T extends KubeObject>(ref: ObjectRef, body: unknown): Promise<T> => {
    releases.calls.push(`patch ${ref.kind} ${JSON.stringify((body as KubeObject).metadata.finalizers)}`);
    return Promise.resolve(body as T);
  };
  const client = { get: <T>(ref: ObjectRef) => Promise.resolve(find(ref) as T | undefined), patch, delete: refuse };
  const events = new RecordedEvents();
  const options = { client, sets: { find: () => sets && [...sets] }, store: releases, events, systemNamespace: "olmv1-system" };
  const outcome = await new ObjectSetImport(options).store(extension, releases.now(), signal).catch((err: Error) => err.message);
  return { outcome, releases, secrets, events };
}

test("ObjectSetImport stores inline and referenced objects with the marks of the extension", async () => {
  const { releases } = await runImport([storedSet({ phases: [{ name: "rbac", objects: [{ object: configMap("c") }] }, phase] })], [secret]);
  expect(releases.state).toEqual(["v1 deployed"]);
  const record = releases.records.get(1);
  expect(record?.objects.map(({ metadata }) => metadata.name)).toEqual(["c", "a", "b"]);
  expect(record?.objects[0]?.metadata).toMatchObject({ ownerReferences: [{ kind: "ClusterExtension", uid: "u", controller: true }] });
  expect(record).toMatchObject({ objectSet: "uid of x-1", description: "imported from ClusterObjectSet x-1" });
});

test("ObjectSetImport stores the deployed release last", async () => {
  const { releases } = await runImport([storedSet({ revision: 2 }), storedSet({ state: "Archived" })]);
  expect(releases.calls).toEqual(["create v1 pending-install", "update v1 superseded", "create v2 pending-install", "update v2 deployed"]);
});

test("ObjectSetImport adds the finalizer of the extension before it stores a release, and keeps other finalizers", async () => {
  const extension = { ...X, metadata: { ...X.metadata, finalizers: ["example.com/other"] } };
  const { releases } = await runImport([storedSet()], [], new MemoryReleases(), extension);
  expect(releases.calls).toEqual([
    `patch ClusterExtension ["example.com/other","${FINALIZER_UNINSTALL}"]`,
    "create v1 pending-install",
    "update v1 deployed",
  ]);
});

test("ObjectSetImport adds no finalizer to an extension that is being deleted", async () => {
  const metadata = { ...X.metadata, finalizers: ["example.com/other"], deletionTimestamp: "2026-01-01T00:00:00Z" };
  const { releases } = await runImport([storedSet()], [], new MemoryReleases(), { ...X, metadata });
  expect(releases.calls).toEqual(["create v1 pending-install", "update v1 deployed"]);
});

test("ObjectSetImport stores nothing when the release of the set is imported already", async () => {
  const { outcome, releases } = await runImport(
    [storedSet()],
    [],
    new MemoryReleases(releaseRecord(1, "deployed", { objectSet: "uid of x-1" })),
  );
  expect([outcome, releases.calls]).toEqual([false, []]);
});

test("ObjectSetImport replaces the release Secret that the Go operator-controller migrated", async () => {
  const { releases } = await runImport([storedSet({ isMigrated: true })], [], new MemoryReleases(releaseRecord(3, "deployed")));
  expect(releases.state).toEqual(["v3 deployed", "v4 deployed"]);
});

const elsewhere = { name: "deploy", objects: [{ ref: { name: "password", namespace: "kube-system", key: "k" } }] };
const opaque = { ...secret, type: "Opaque" };

test.for<[what: string, sets: KubeObject[] | undefined, objects: KubeObject[], why: string]>([
  [
    "it is unknown whether sets exist",
    undefined,
    [],
    "cannot determine yet whether the Go operator-controller stored releases in ClusterObjectSets",
  ],
  [
    "a phase is damaged",
    [storedSet({ phases: [{ name: "deploy" }] })],
    [],
    'ClusterObjectSet "x-1" cannot be read: phase "deploy" has no list of objects',
  ],
  [
    "a Secret is missing",
    [storedSet({ phases: [phase] })],
    [],
    'ClusterObjectSet "x-1" cannot be read: Secret olmv1-system/x-1-0123456789abcdef does not exist. Restore this Secret',
  ],
  [
    "a Secret has another type",
    [storedSet({ phases: [phase] })],
    [opaque],
    'ClusterObjectSet "x-1" cannot be read: Secret olmv1-system/x-1-0123456789abcdef is not of type olm.operatorframework.io/object-data',
  ],
  [
    "there are too many sets",
    Array.from({ length: 51 }, (_, i) => storedSet({ revision: i + 1 })),
    [],
    'ClusterExtension "x" has more than 50 ClusterObjectSets',
  ],
])("ObjectSetImport fails and stores nothing when %s", async ([, sets, objects, why]) => {
  const { outcome, releases } = await runImport(sets, objects);
  expect(outcome).toBe(why);
  expect(releases.calls).toEqual([]);
});

test("ObjectSetImport reads no Secret in another namespace", async () => {
  const { outcome, secrets } = await runImport([storedSet({ phases: [elsewhere] })]);
  expect(outcome).toContain('Secret kube-system/password is not in namespace "olmv1-system"');
  expect(secrets).toEqual([]);
});

test("ObjectSetImport skips an archived set that cannot be read, with an Event", async () => {
  const { releases, events } = await runImport([storedSet({ state: "Archived", phases: [phase] }), storedSet({ revision: 2 })]);
  expect(releases.state).toEqual(["v2 deployed"]);
  expect(JSON.stringify(events)).toContain("ReleaseSkipped");
});
