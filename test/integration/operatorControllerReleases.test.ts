import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { writeFinalizers } from "../../pkg/controller/finalizers.ts";
import { encodeCanonicalJson } from "../../pkg/golang/json.ts";
import { createExtensionStatusWriter } from "../../pkg/operatorcontroller/reconcile/statusEvents.ts";
import { newReleaseHistory, ReleaseStore } from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import type { ReleaseRecord } from "../../pkg/release/record.ts";
import { ANNOTATION_INCOMPLETE } from "../../pkg/release/storage/decode.ts";
import { encodeRelease } from "../../pkg/release/storage/encode.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { RecordedEvents, stepContext } from "../support/extensionFakes.ts";
import { createExtension } from "../support/extensions.ts";
import { chunkNames, configMap, type ReleaseParts, releaseRecord } from "../support/releases.ts";

const SECRET = { apiVersion: "v1", kind: "Secret" };
const { log } = stepContext();
const signal = new AbortController().signal;

/** Incompressible ConfigMaps: more than one chunk of a release. */
const noise = (): KubeObject[] =>
  Array.from({ length: 20 }, (_, i) => configMap(`c${i}`, "ns", { noise: randomBytes(60_000).toString("base64") }));

describeWithCluster("releases and status on a real API server", (cluster) => {
  /** The system namespace. */
  let system = "";
  let store: ReleaseStore;

  beforeAll(async () => {
    await cluster.installCrds();
    system = await cluster.namespace("releases");
    store = new ReleaseStore(cluster.client, system);
  });

  async function extension(): Promise<ClusterExtension> {
    return cluster.client.create(createExtension(cluster.name("rel"), { packageName: "p" }));
  }

  const toOwner = ({ metadata: { name, uid = "" } }: KubeObject): { name: string; uid: string } => ({ name, uid });
  const release = (owner: KubeObject, version: number, status: ReleaseRecord["status"], parts: ReleaseParts = {}): ReleaseRecord =>
    releaseRecord(version, status, { name: owner.metadata.name, ...parts });
  const listSecrets = async (owner: KubeObject): Promise<KubeObject[]> => {
    const { items } = await cluster.client.list(SECRET, { namespace: system });
    return items.filter(({ metadata }) => metadata.name.includes(`.${owner.metadata.name}.`));
  };

  test("a release history is written, read and deleted", async () => {
    const x = await extension();
    expect(await store.history(toOwner(x))).toEqual(newReleaseHistory());
    const [v1, v2, v3] = [
      release(x, 1, "superseded", { objects: ["a"] }),
      release(x, 2, "pending-upgrade", { objects: ["b"], inputDigest: "d" }),
      release(x, 3, "failed", { objects: ["c"] }),
    ];
    for (const record of [v1, v2, v3]) await store.create(record, toOwner(x));
    await store.update({ ...v2, status: "deployed" }, toOwner(x));
    const history = await store.history(toOwner(x));
    expect(history).toEqual({
      current: [v3, { ...v2, status: "deployed" }],
      older: [{ version: 1, status: "superseded" }],
      unfinished: [],
      highest: 3,
      orphaned: false,
      unreadable: [],
      foreign: [],
      etag: expect.any(String) as string,
    });
    expect(await store.read(x.metadata.name, 1)).toEqual({ kind: "readable", record: v1 });
    expect(await store.read(x.metadata.name, 7)).toBeUndefined();
    const [index] = await listSecrets(x);
    expect(index?.metadata.labels).toMatchObject({ owner: "operator-controller", name: x.metadata.name, type: "index" });
    for (const version of [1, 2, 3]) await store.remove(x.metadata.name, version);
    expect(await store.history(toOwner(x))).toEqual(newReleaseHistory());
    await cluster.client.delete(toObjectRef(x));
  });

  test("a release history contains the store's own writes when it is listed from the cache of the API server", async () => {
    const x = await extension();
    for (const version of [1, 2, 3, 4, 5]) {
      await store.create(release(x, version, "failed", { objects: ["a"] }), toOwner(x));
      expect((await store.history(toOwner(x))).highest).toBe(version);
      await store.update(release(x, version, "superseded", { objects: ["a"] }), toOwner(x));
      expect((await store.history(toOwner(x))).current.map(({ status }) => status)).not.toContain("failed");
    }
    await store.remove(x.metadata.name, 5);
    expect((await store.history(toOwner(x))).highest).toBe(4);
    const lists = async (): Promise<string[]> =>
      (await cluster.auditEvents())
        .map(({ requestURI }) => decodeURIComponent(requestURI))
        .filter((uri) => uri.includes(`name=${x.metadata.name},type=index`));
    await eventually(async () => expect(await lists()).toHaveLength(11));
    const isCached = (uri: string): boolean => uri.includes("resourceVersionMatch=NotOlderThan");
    expect((await lists()).map(isCached)).toEqual([...Array<boolean>(10).fill(true), false]);
    for (const version of [1, 2, 3, 4]) await store.remove(x.metadata.name, version);
    await cluster.client.delete(toObjectRef(x));
  });

  test("a second writer of the same revision gets an error and changes nothing", async () => {
    const x = await extension();
    const [mine, theirs] = [release(x, 1, "pending-install", { objects: ["a"] }), release(x, 1, "pending-install", { objects: ["b"] })];
    await store.create(mine, toOwner(x));
    await expect(new ReleaseStore(cluster.client, system).create(theirs, toOwner(x))).rejects.toThrow(
      `release "${x.metadata.name}" v1 already exists: another controller is reconciling this extension`,
    );
    expect((await store.history(toOwner(x))).current).toEqual([mine]);
    await store.remove(x.metadata.name, 1);
    await expect(store.update(mine, toOwner(x))).rejects.toThrow(/v1 no longer exists in namespace/);
    await cluster.client.delete(toObjectRef(x));
  });

  test("a reader gets either the old or the new release while a large release is written, and no unused Secrets remain", async () => {
    const x = await extension();
    const contents = [noise(), noise(), [configMap("small", "ns")]];
    await store.create(release(x, 1, "deployed", { objects: contents[0]! }), toOwner(x));
    expect((await listSecrets(x)).length).toBeGreaterThan(2);
    const write = async (): Promise<"written"> => {
      for (const content of [1, 0, 2, 1]) {
        await store.update(release(x, 1, "deployed", { objects: contents[content]! }), toOwner(x));
        await sleep(50);
      }
      return "written";
    };
    const seen = new Set<number>();
    const writing = write();
    while ((await Promise.race([writing, sleep(1, "writing")])) === "writing") {
      const [record] = (await store.history(toOwner(x))).current;
      const which = contents.findIndex((objects) => encodeCanonicalJson(objects) === encodeCanonicalJson(record?.objects));
      expect(which).toBeGreaterThanOrEqual(0);
      seen.add(which);
    }
    expect(seen.size).toBeGreaterThan(1);
    const [index, ...chunks] = (await listSecrets(x)).sort((a, b) => compareText(a.metadata.name, b.metadata.name));
    expect(chunks.map(({ metadata }) => metadata.name).sort()).toEqual(chunkNames(index!));
    await store.remove(x.metadata.name, 1);
    expect(await listSecrets(x)).toEqual([]);
    await cluster.client.delete(toObjectRef(x));
  });

  test("the release history distinguishes an incomplete record from a record with a missing chunk", async () => {
    const x = await extension();
    const buildStored = (version: number, status: ReleaseRecord["status"]): KubeObject => {
      const [index] = encodeRelease(release(x, version, status, { objects: noise() }), { systemNamespace: system, owner: toOwner(x) });
      return index!;
    };
    await store.create(release(x, 1, "deployed", { objects: ["a"] }), toOwner(x));
    const begun = buildStored(2, "pending-upgrade");
    const marked = { ...begun, metadata: { ...begun.metadata, annotations: { [ANNOTATION_INCOMPLETE]: "true" } } };
    await cluster.client.create(marked);
    const { current, unfinished, highest } = await store.history(toOwner(x), { isConsistent: true });
    expect([current.map(({ version }) => version), unfinished, highest]).toEqual([[1], [2], 2]);
    await store.remove(x.metadata.name, 2);
    for (const status of ["deployed", "pending-upgrade"] as const) {
      await cluster.client.create(buildStored(3, status));
      const { unreadable, unfinished: begunOnes } = await store.history(toOwner(x), { isConsistent: true });
      expect([status, begunOnes, unreadable]).toEqual([
        status,
        [],
        [
          {
            kind: "unreadable",
            secret: `sh.helm.release.v1.${x.metadata.name}.v3`,
            reason: expect.stringMatching(/^failed to get chunk 2 secret "sh\.helm\.release\.v1\..*": it does not exist$/) as unknown,
          },
        ],
      ]);
      await store.remove(x.metadata.name, 3);
    }
    await cluster.client.delete(toObjectRef(x));
  });

  test("a large record is marked incomplete until its chunks are stored", async () => {
    const x = await extension();
    await store.create(release(x, 1, "pending-install", { objects: noise() }), toOwner(x));
    const [index] = (await listSecrets(x)).filter(({ metadata }) => metadata.labels?.["type"] === "index");
    expect(index?.metadata.annotations).toBeUndefined();
    await store.remove(x.metadata.name, 1);
    await cluster.client.delete(toObjectRef(x));
  });

  test("the release history of an extension excludes releases of an earlier extension with its name, and includes orphaned releases", async () => {
    const [x, earlier] = [await extension(), await extension()];
    await store.create(release(x, 4, "deployed", { objects: ["a"] }), toOwner(earlier));
    expect(await store.history(toOwner(x))).toMatchObject({
      current: [],
      older: [],
      highest: 4,
      foreign: [{ version: 4, status: "deployed" }],
    });
    const key = { ...SECRET, namespace: system, name: `sh.helm.release.v1.${x.metadata.name}.v4` };
    await cluster.client.patch(key, { metadata: { ownerReferences: null } }, { type: "merge" });
    const taken = await store.history(toOwner(x), { isConsistent: true });
    expect([taken.current.length, taken.orphaned]).toEqual([1, true]);
    await store.update(release(x, 4, "superseded", { objects: ["a"] }), toOwner(x));
    expect((await store.history(toOwner(x))).orphaned).toBe(false);
    for (const object of [x, earlier]) await cluster.client.delete(toObjectRef(object));
  });

  test("status and finalizers of a deleted extension are not written to a new extension with the same name", async () => {
    const first = await extension();
    const { name } = first.metadata;
    const statuses = createExtensionStatusWriter(cluster.client, new RecordedEvents());
    const status = {
      conditions: [
        { type: "Progressing", status: "True" as const, reason: "Succeeded", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
      ],
    };
    expect(await statuses.write(first, status, log)).toMatchObject({ kind: "written" });
    await cluster.client.delete(toObjectRef(first));
    expect(await statuses.write(first, status, log)).toEqual({ kind: "replaced" });
    expect(await writeFinalizers(cluster.client, first, ["example.com/f"], signal)).toBe("gone");
    const { apiVersion, kind, spec } = first;
    const second = await cluster.client.create({ apiVersion, kind, metadata: { name }, spec });
    expect(await statuses.write(first, status, log)).toEqual({ kind: "replaced" });
    expect(await writeFinalizers(cluster.client, first, ["example.com/f"], signal)).toBe("changed");
    const live = await cluster.client.get<ClusterExtension>(toObjectRef(second));
    expect([live?.status, live?.metadata.finalizers]).toEqual([{ observedGeneration: -1 }, undefined]);
    await cluster.client.delete(toObjectRef(second));
  });

  test("the status is written without status.install when the API server rejects the bundle's name", async () => {
    const x = await extension();
    const conditions = [
      { type: "Installed", status: "True" as const, reason: "Succeeded", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const install = { bundle: { name: "Not_A_Subdomain", version: "1.0.0" } };
    expect(await createExtensionStatusWriter(cluster.client, new RecordedEvents()).write(x, { conditions, install }, log)).toMatchObject({
      kind: "written",
    });
    expect((await cluster.client.get<ClusterExtension>(toObjectRef(x)))?.status).toEqual({ conditions });
    await cluster.client.delete(toObjectRef(x));
  });
});
