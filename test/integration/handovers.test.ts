import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const WAITING = { Progressing: "True/Retrying", Installed: "True/Succeeded" };

function role(name: string): KubeObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  };
}

/** The API server rejects the second of two such Services, and no dry run of one of them reports that. */
function service(name: string, nodePort: number): KubeObject {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { type: "NodePort", ports: [{ port: 80, nodePort }] } };
}

const RED = role("red");
const BLUE = role("blue");
const GREEN = role("green");
const THINGS = thingDefinition("handovers.example.com");
const BROKEN = [service("one", 30_123), service("two", 30_123)];
const SHARED = [RED, BLUE, GREEN, THINGS];

/** The content of each version of the only package. */
const BUNDLES: Readonly<Record<string, readonly KubeObject[]>> = {
  "1.0.0": [RED],
  "2.0.0": [BLUE, THINGS],
  "3.0.0": [GREEN],
  "4.0.0": [],
  "5.0.0": [RED, ...BROKEN],
  "6.0.0": [BLUE, THINGS, ...BROKEN],
};

// With these intervals, rechecks of the cluster are too slow: only messages between extensions are fast enough.
describeWithPrivateCluster("extensions that exchange objects", (cluster) => {
  let world: OperatorWorld;
  /** Called before each write of the controller. */
  let beforeWrite: () => void = () => undefined;

  beforeAll(async () => {
    const client = cluster.client.guardedBy(() => beforeWrite());
    world = await OperatorWorld.start(cluster, { maxBackoffMs: 1_000, recheckIntervalMs: 5_000 }, client);
    await world.serveVersions(BUNDLES);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const start = async (name: string, version: string): Promise<void> => {
    await world.extension(name, { catalog: { version, upgradeConstraintPolicy: "SelfCertified" } });
    await world.conditions(name, DONE);
  };
  const move = (name: string, version: string): Promise<KubeObject> =>
    cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name },
      { spec: { source: { catalog: { version } } } },
      { type: "merge" },
    );
  const waitUntilInstalled = async (name: string, version: string): Promise<void> => {
    await world.until(name, ({ status }) => expect(status?.install?.bundle.version).toBe(version));
    await world.conditions(name, DONE);
  };
  const uids = async (): Promise<Record<string, string | undefined>> =>
    Object.fromEntries(
      await Promise.all(
        SHARED.map(async (object) => [object.metadata.name, (await cluster.client.get(toObjectRef(object)))?.metadata.uid] as const),
      ),
    );
  /** Returns the owner label of each object; expects no owner reference to another extension. */
  async function owners(...objects: readonly KubeObject[]): Promise<(string | undefined)[]> {
    return Promise.all(
      objects.map(async (object) => {
        const { labels = {}, ownerReferences = [] } = (await cluster.client.get(toObjectRef(object)))?.metadata ?? {};
        const named = labels[LABEL_OWNER_NAME];
        expect(ownerReferences.map(({ name }) => name).filter((name) => name !== named)).toEqual([]);
        return named;
      }),
    );
  }
  const listEvents = async (name: string, ...reasons: readonly string[]): Promise<string[]> =>
    (await world.events(name)).filter((text) => reasons.some((reason) => text.startsWith(`${reason}: `)));
  const removeAll = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) await world.remove(name);
  };
  const thing: KubeObject = { apiVersion: "handovers.example.com/v1", kind: "Thing", metadata: { name: "mine", namespace: "default" } };

  test("two extensions exchange objects without a deletion, and no object ever has two owners", async () => {
    await start("first", "1.0.0");
    await start("second", "2.0.0");
    await eventually(() => cluster.client.create(thing));
    const before = await uids();
    await move("first", "2.0.0");
    const { problems } = await world.conditions("first", WAITING);
    expect(problems).toContain(
      `ClusterRole 'blue' already exists in namespace '' and cannot be managed by operator-controller; next: it belongs to ClusterExtension "second"`,
    );
    await move("second", "1.0.0");
    await waitUntilInstalled("first", "2.0.0");
    await waitUntilInstalled("second", "1.0.0");
    expect(await owners(RED, BLUE, THINGS)).toEqual(["second", "first", "first"]);
    expect(await uids()).toEqual(before);
    expect(await cluster.client.get(toObjectRef(thing))).toBeDefined();
    expect([...(await listEvents("first", "Pruned")), ...(await listEvents("second", "Pruned"))]).toEqual([]);
    await eventually(async () =>
      expect(await listEvents("second", "HandedOver")).toContain(
        'HandedOver: took over ClusterRole red from ClusterExtension "first", whose next release does not contain it',
      ),
    );
    await cluster.client.delete(toObjectRef(thing));
    await removeAll("first", "second");
    expect(await owners(RED, BLUE, THINGS)).toEqual([undefined, undefined, undefined]);
  });

  test("three extensions exchange objects in a cycle without recreating them", async () => {
    await start("one", "1.0.0");
    await start("two", "2.0.0");
    await start("three", "3.0.0");
    const before = await uids();
    await move("one", "2.0.0");
    await move("two", "3.0.0");
    await move("three", "1.0.0");
    await waitUntilInstalled("one", "2.0.0");
    await waitUntilInstalled("two", "3.0.0");
    await waitUntilInstalled("three", "1.0.0");
    expect(await owners(RED, BLUE, THINGS, GREEN)).toEqual(["three", "one", "one", "two"]);
    expect(await uids()).toEqual(before);
    await removeAll("one", "two", "three");
  });

  test("an exchange whose first extension fails leaves each object with one owner, and completes when the extension gets a valid bundle", async () => {
    await start("failing", "1.0.0");
    await start("other", "2.0.0");
    const before = await uids();
    await move("failing", "6.0.0");
    await world.conditions("failing", WAITING);
    await move("other", "1.0.0");
    await eventually(async () => expect(await listEvents("failing", "ApplyFailed")).not.toEqual([]));
    await eventually(async () => expect((await owners(RED, BLUE)).every((owner) => owner !== undefined)).toBe(true));
    expect(await uids()).toEqual(before);
    await move("failing", "2.0.0");
    await waitUntilInstalled("failing", "2.0.0");
    await waitUntilInstalled("other", "1.0.0");
    expect(await owners(RED, BLUE, THINGS)).toEqual(["other", "failing", "failing"]);
    expect(await uids()).toEqual(before);
    await removeAll("failing", "other");
  });

  test("an exchange whose second extension fails leaves each object with one owner, even after a restart, and completes with a valid bundle", async () => {
    await start("leading", "1.0.0");
    await start("lagging", "2.0.0");
    const before = await uids();
    await move("lagging", "5.0.0");
    await world.conditions("lagging", WAITING);
    await move("leading", "2.0.0");
    await eventually(async () => expect(await listEvents("lagging", "ApplyFailed")).not.toEqual([]));
    await world.restart();
    await eventually(async () => expect((await owners(RED, BLUE)).every((owner) => owner !== undefined)).toBe(true));
    expect(await uids()).toEqual(before);
    await move("lagging", "1.0.0");
    await waitUntilInstalled("lagging", "1.0.0");
    await waitUntilInstalled("leading", "2.0.0");
    expect(await owners(RED, BLUE, THINGS)).toEqual(["lagging", "leading", "leading"]);
    expect(await uids()).toEqual(before);
    await removeAll("leading", "lagging");
  });

  test("an object that one extension gave up for another is deleted when the bundle of the other no longer contains the object", async () => {
    await start("giver", "1.0.0");
    await start("taker", "4.0.0");
    await cluster.client.create({ ...BLUE, rules: [] });
    world.bundle("p.v7.0.0", tinyBundle("7.0.0", { objects: [RED, BLUE] }));
    const names = [...Object.keys(BUNDLES), "7.0.0"].map((version) => `p.v${version}`);
    await world.serve({ channels: { all: names }, bundles: names });
    await move("taker", "7.0.0");
    await world.conditions("taker", WAITING);
    const { red } = await uids();
    await move("giver", "4.0.0");
    await waitUntilInstalled("giver", "4.0.0");
    expect((await uids())["red"]).toBe(red);
    expect(await owners(RED)).toEqual(["giver"]);
    await move("taker", "4.0.0");
    await waitUntilInstalled("taker", "4.0.0");
    await eventually(async () => expect((await uids())["red"]).toBeUndefined(), { timeoutMs: 30_000 });
    await cluster.client.delete(toObjectRef(BLUE));
    await removeAll("giver", "taker");
  });

  test("an exchange of objects completes after the controller stops at any write", { timeout: 240_000 }, async () => {
    await start("left", "1.0.0");
    await start("right", "2.0.0");
    const before = await uids();
    let isBack = false;
    for (const writes of [1, 3, 5, 6, 7, 8, 9, 11, 13, 16]) {
      let done = 0;
      const stopped = Promise.withResolvers<void>();
      beforeWrite = () => {
        if (++done <= writes) return;
        stopped.resolve();
        throw new Error("the controller has stopped");
      };
      const [left, right] = isBack ? ["1.0.0", "2.0.0"] : ["2.0.0", "1.0.0"];
      await move("left", left);
      await move("right", right);
      await stopped.promise;
      await world.restart(() => {
        beforeWrite = () => undefined;
      });
      await waitUntilInstalled("left", left);
      await waitUntilInstalled("right", right);
      expect(await uids(), `stopped after ${writes} writes`).toEqual(before);
      expect(await owners(RED, BLUE, THINGS), `stopped after ${writes} writes`).toEqual(
        isBack ? ["left", "right", "right"] : ["right", "left", "left"],
      );
      isBack = !isBack;
    }
    await removeAll("left", "right");
  });
});
