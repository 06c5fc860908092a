import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_RECONCILE_REQUESTED_AT,
  ANNOTATION_ROLLBACK_TO,
  FIELD_MANAGER,
  FINALIZER_UNINSTALL,
  SYSTEM_NAMESPACE,
} from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ObjectSetImport } from "../../pkg/operatorcontroller/releases/objectSetImport.ts";
import { type ReleaseHistory, ReleaseStore } from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { OBJECT_SET_KINDS } from "../../pkg/release/objectSet.ts";
import { type ReleaseRow, readReleaseRows } from "../../pkg/rollout/releaseHistory.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { RecordedEvents } from "../support/extensionFakes.ts";
import { createExtension } from "../support/extensions.ts";
import { Boxcutter, listObjectSecrets, type Revision } from "../support/goOlm/boxcutter.ts";
import { installObjectSets } from "../support/goOlm/objectSet.ts";
import { prepareObjectsFor } from "../support/loneExtension.ts";
import { configMap } from "../support/releases.ts";
import { SampleWorld } from "../support/sampleWorld.ts";

const NAME = "moved";
const SECRET = { apiVersion: "v1", kind: "Secret" };

// Source: O-04 (adoption from Go), for releases in ClusterObjectSets.
describeWithPrivateCluster("an extension whose releases are in ClusterObjectSets", (cluster) => {
  const { signal } = new AbortController();
  let sample: SampleWorld;
  let boxcutter: Boxcutter;
  let extension: ClusterExtension;

  beforeAll(async () => {
    await installObjectSets(cluster.client);
    sample = await SampleWorld.start(cluster);
  });

  afterEach(async () => {
    await sample.clear();
    await eventually(async () => expect(await listSets()).toEqual([]));
  });

  afterAll(() => sample?.world.stop());

  /** Creates a suspended extension, so that the imitation of the Go operator-controller can write its objects. */
  async function createSuspended(version: string): Promise<void> {
    const { metadata, spec, ...rest } = await sample.extension(NAME, { version });
    const finalizers = ["olm.operatorframework.io/cleanup-unpack-cache"];
    extension = await cluster.client.create({ ...rest, metadata: { ...metadata, finalizers }, spec: { ...spec, suspend: true } });
    boxcutter = new Boxcutter(cluster.client, extension);
  }

  function build(revision: number, version: string, parts: Partial<Revision> = {}): Revision {
    const objects = prepareObjectsFor(extension, sample.rendered(version, extension.spec.namespace ?? ""));
    return { revision, packageName: SAMPLE_PACKAGE, version, objects, ...parts };
  }

  async function resume(): Promise<void> {
    await cluster.client.patch(toObjectRef(extension), { spec: { suspend: false } }, { type: "merge" });
  }

  async function listSets(): Promise<string[]> {
    const lists = await Promise.all(OBJECT_SET_KINDS.map((gvk) => cluster.client.list(gvk)));
    return lists.flatMap(({ items }) => items.map(describeObject)).sort();
  }

  async function readAll(objects: readonly KubeObject[]): Promise<KubeObject[]> {
    const live = await Promise.all(objects.map((object) => cluster.client.get(toObjectRef(object))));
    return live.flatMap((object) => object ?? []);
  }

  /** Returns the ReplicaSets and Pods of the extension, with their uids. */
  async function listPods(): Promise<string[]> {
    const kinds = [
      { apiVersion: "apps/v1", kind: "ReplicaSet" },
      { apiVersion: "v1", kind: "Pod" },
    ] as const;
    const namespace = extension.spec.namespace ?? "";
    const lists = await Promise.all(kinds.map((gvk) => cluster.client.list(gvk, { namespace })));
    return lists.flatMap(({ items }) => items.map((one) => `${describeObject(one)} ${one.metadata.uid}`)).sort();
  }

  test("an extension is adopted from its active set, and no object or Pod is replaced, also after a crash of the Go operator-controller", async () => {
    await createSuspended("1.1.0");
    await boxcutter.install(build(1, "1.0.0", { state: "archived", kind: "ClusterExtensionRevision" }));
    const installed = build(2, "1.1.0", { isPacked: true });
    await boxcutter.install({ ...installed, created: installed.objects.filter((_, i) => i % 2 === 0) });
    await eventually(async () => expect(await listPods()).toHaveLength(2));
    const [before, pods] = [await readAll(installed.objects), await listPods()];
    expect(before).toHaveLength(installed.objects.length);

    await resume();
    await sample.world.installed(NAME, "1.1.0");
    await eventually(async () => expect(await listSets()).toEqual([]));
    const after = await readAll(installed.objects);
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
    expect(await listPods()).toEqual(pods);
    for (const object of after) {
      const { labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = object.metadata;
      const owners = object.kind === "CustomResourceDefinition" ? [] : ["ClusterExtension"];
      expect([describeObject(object), ownerReferences.map(({ kind }) => kind)]).toEqual([describeObject(object), owners]);
      expect(labels).not.toHaveProperty("boxcutter-managed");
      expect(annotations).not.toHaveProperty("olm.operatorframework.io/revision");
      const managers = managedFields.filter(({ subresource }) => !subresource).map(({ manager }) => manager);
      expect([describeObject(object), managers.filter((manager) => manager === FIELD_MANAGER)]).toEqual([
        describeObject(object),
        [FIELD_MANAGER],
      ]);
    }
    expect(await listObjectSecrets(cluster.client)).toEqual([]);
    expect(await sample.releases(NAME)).toEqual(["v1 superseded", "v2 superseded", "v3 deployed"]);
    expect((await sample.events(NAME)).filter((text) => /^(TakenOver|Installed|Upgraded)/.test(text))).toEqual([
      expect.stringMatching(/^TakenOver: took over bundle "hello-operator.v1.1.0": /),
    ]);

    await cluster.client.patch(toObjectRef(extension), { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: "1" } } }, { type: "merge" });
    await sample.world.installed(NAME, "1.0.0");
    expect(await sample.owned(NAME)).toEqual(sample.wanted("1.0.0", extension));
  });

  test("status reports the missing Secret of a set, and nothing is written until the Secret is restored", async () => {
    await createSuspended("1.1.0");
    const installed = build(1, "1.1.0", { isPacked: true });
    const set = await boxcutter.install(installed);
    const [name = ""] = await listObjectSecrets(cluster.client);
    const ref = { ...SECRET, name, namespace: SYSTEM_NAMESPACE };
    const secret = (await cluster.client.get(ref))!;
    await cluster.client.delete(ref);
    const before = await readAll(installed.objects);
    await resume();
    const why = `ClusterObjectSet "${NAME}-1" cannot be read: Secret ${SYSTEM_NAMESPACE}/${name} does not exist`;
    await sample.world.condition("ClusterExtension", NAME, (c) => c("Progressing")?.message.includes(why) ?? false);
    await sample.world.problems(NAME, (problems) => problems.includes(why));
    expect((await readAll(installed.objects)).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
    expect(await sample.releases(NAME)).toEqual([]);
    expect(await listSets()).toEqual([describeObject(set)]);

    const { uid: _uid, resourceVersion: _version, ...metadata } = secret.metadata;
    await cluster.client.create({ ...secret, metadata });
    await sample.world.installed(NAME, "1.1.0");
    await eventually(async () => expect(await listSets()).toEqual([]));
  });

  test("an upgrade that the Go operator-controller did not complete is finished or undone, and its objects are pruned", async () => {
    await createSuspended("1.0.0");
    const installed = build(1, "1.0.0");
    await boxcutter.install(installed);
    const added = configMap("hello-operator-languages", extension.spec.namespace); // the ServiceAccount may delete it
    await boxcutter.install({ ...installed, revision: 2, state: "incomplete", objects: [...installed.objects, added] });
    expect(await sample.owned(NAME)).toContain(describeObject(added));
    await resume();
    await sample.world.installed(NAME, "1.0.0");
    await eventually(async () => expect(await sample.owned(NAME)).toEqual(sample.wanted("1.0.0", extension)));
    await eventually(async () => expect(await listSets()).toEqual([]));
    expect(await sample.releases(NAME)).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
  });

  test("a suspended extension gets its finalizer before the import, so that a deletion removes its sets", async () => {
    await createSuspended("1.0.0");
    await cluster.client.patch(toObjectRef(extension), { metadata: { finalizers: [] } }, { type: "merge" });
    await boxcutter.install(build(1, "1.0.0"));
    const annotations = { [ANNOTATION_RECONCILE_REQUESTED_AT]: "1" };
    await cluster.client.patch(toObjectRef(extension), { metadata: { annotations } }, { type: "merge" });
    await eventually(async () => expect(await sample.releases(NAME)).toEqual(["v1 deployed"]));
    const live = await cluster.client.get<ClusterExtension>(toObjectRef(extension));
    expect(live?.metadata.finalizers).toEqual([FINALIZER_UNINSTALL]);
    await sample.world.removed("ClusterExtension", NAME);
    expect([await sample.owned(NAME), await listSets()]).toEqual([[], []]);
  });

  test("an uninstall deletes the objects of a set that was not adopted yet, and the set", async () => {
    await createSuspended("1.0.0");
    await boxcutter.install(build(1, "1.0.0", { isPacked: true }));
    expect(await sample.owned(NAME)).toEqual(expect.arrayContaining(sample.wanted("1.0.0", extension)));
    await sample.world.removed("ClusterExtension", NAME);
    expect(await sample.owned(NAME)).toEqual([]);
    await eventually(async () => expect(await listSets()).toEqual([]));
    expect(await listObjectSecrets(cluster.client)).toEqual([]);
  });

  test("a set of an earlier extension with the same name is not imported", async () => {
    await createSuspended("1.0.0");
    const earlier = { ...extension, metadata: { ...extension.metadata, uid: "0dd1e7a4-0000-4000-8000-000000000000" } };
    const set = await new Boxcutter(cluster.client, earlier).install(build(1, "1.1.0", { objects: [configMap("x", "default")] }));
    await resume();
    await sample.world.installed(NAME, "1.0.0");
    // The garbage collector deletes the set, and only the Go operator-controller removes its finalizer.
    await eventually(async () => {
      const live = await cluster.client.get(toObjectRef(set));
      expect(live?.metadata.deletionTimestamp).toBeDefined();
    });
    await cluster.client.patch(toObjectRef(set), { metadata: { finalizers: [] } }, { type: "merge" });
    expect(await sample.releases(NAME)).toEqual(["v1 deployed"]);
  });

  // Runs last, because it stops operator-controller and does its writes itself.
  test("an import and a removal that stop after any write continue to the same releases, and objects stay", async () => {
    await sample.end("operator-controller", "SIGTERM");
    for (let writes = 0, isStopped = true; isStopped; writes++) {
      const { metadata, ...rest } = createExtension(`stopped-${writes}`, { packageName: SAMPLE_PACKAGE });
      extension = await cluster.client.create({ ...rest, metadata });
      boxcutter = new Boxcutter(cluster.client, extension);
      const object = configMap(metadata.name, "default");
      const parts = { packageName: SAMPLE_PACKAGE, version: "1.0.0", objects: [object] };
      await boxcutter.install({ ...parts, revision: 1, state: "archived" });
      await boxcutter.install({ ...parts, revision: 2, isPacked: true });
      await boxcutter.install({ ...parts, revision: 3, state: "incomplete" });
      const before = await readRows();
      const stored = await runTwice(writes, (importer, history) => importer.store(extension, history, signal));
      expect(await sample.releases(metadata.name)).toEqual(["v1 superseded", "v2 deployed", "v3 failed"]);
      expect(before.map(({ revision, status }) => `v${revision} ${status}`)).toEqual(["v3 failed", "v2 deployed", "v1 superseded"]);
      expect(await readRows()).toEqual(before);
      const removed = await runTwice(writes, (importer) => importer.remove(extension, undefined, signal));
      await eventually(async () => expect(await listSets()).toEqual([]));
      expect(await listObjectSecrets(cluster.client)).toEqual([]);
      await eventually(async () => expect((await cluster.client.get(toObjectRef(object)))?.metadata.ownerReferences).toBeUndefined());
      await cluster.client.patch(toObjectRef(extension), { metadata: { finalizers: [] } }, { type: "merge" }); // no controller runs
      isStopped = stored || removed;
    }
  });

  /** Returns the releases as `olmv1 history` lists them. */
  function readRows(): Promise<ReleaseRow[]> {
    return readReleaseRows(cluster.client, extension, SYSTEM_NAMESPACE);
  }

  /** Runs an operation of the import with a client that stops after some writes, and then again. @returns whether it stopped */
  async function runTwice(writes: number, run: (importer: ObjectSetImport, history: ReleaseHistory) => Promise<unknown>): Promise<boolean> {
    const { items } = await cluster.client.list(OBJECT_SET_KINDS[0]);
    const owner = { name: extension.metadata.name, uid: extension.metadata.uid ?? "" };
    const once = async (client: Client): Promise<void> => {
      const store = new ReleaseStore(client, SYSTEM_NAMESPACE);
      const sets = { find: () => items };
      const importer = new ObjectSetImport({ client, sets, store, events: new RecordedEvents(), systemNamespace: SYSTEM_NAMESPACE });
      extension = (await cluster.client.get<ClusterExtension>(toObjectRef(extension)))!;
      await run(importer, await store.history(owner));
    };
    try {
      await once(stopAfter(cluster.client, writes));
    } catch (err) {
      expect(String(err)).toContain(STOPPED);
      await once(cluster.client);
      return true;
    }
    return false;
  }
});

const STOPPED = "the controller stopped";

/** Returns a client that fails instead of its next write after a number of writes. */
function stopAfter(client: Client, writes: number): Client {
  let left = writes;
  return new Proxy(client, {
    get: (target, member) => {
      const value: unknown = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const isWrite = ["create", "replace", "patch", "delete"].includes(String(member));
        if (isWrite && left-- <= 0) return Promise.reject(new Error(STOPPED));
        return Reflect.apply(value, target, args);
      };
    },
  });
}
