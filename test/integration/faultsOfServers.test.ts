import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { ObjectRef } from "../../pkg/api/k8s.ts";
import { KubeError } from "../../pkg/kube/errors.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { FaultWorld } from "../support/faultWorld.ts";

/**
 * Number of writes before a server fails: a release has begun, and some of its objects exist, but not its CustomResourceDefinition. An API
 * server that ends between accepting the names of a definition and serving it does not serve it after a restart either, until the definition changes.
 */
const IN_THE_MIDDLE = 4;
/** Maximum number of requests during an outage of a few seconds: a few reconciles per second, and the operation itself. */
const AT_MOST = 300;

describeWithPrivateCluster("servers and identities that fail during an operation", (cluster, dev) => {
  let world: FaultWorld;

  beforeAll(async () => {
    world = await FaultWorld.start(cluster);
  });

  afterEach(() => world.clear());

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const toInstallerRef = ({ spec: { namespace, serviceAccount } }: ClusterExtension): ObjectRef => {
    return { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount?.name ?? "" };
  };
  const recreate = async (account: ObjectRef): Promise<void> => {
    const { apiVersion, kind, name, namespace = "" } = account;
    await cluster.client.create({ apiVersion, kind, metadata: { name, namespace } });
  };

  // Source: O-04.
  test.for(["kube-apiserver", "etcd"] as const)("an install, an upgrade and an uninstall succeed when %s restarts", async (server) => {
    const name = cluster.name("x");
    const since = Date.now();
    const from = world.proxy.requests.length;
    const restartDuring = async (work: () => Promise<unknown>): Promise<void> => {
      const point = world.pointAfter(IN_THE_MIDDLE);
      await work();
      await point.settled;
      const restarted = dev().restart(server);
      point.lift();
      await restarted;
    };
    await restartDuring(() => world.create(name));
    const x = await world.operator.get(name);
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    await restartDuring(() => world.upgrade(name));
    await world.settled(x, "2.0.0", ["v1 superseded", "v2 deployed"]);
    await world.quiet();
    await restartDuring(() => world.delete(name));
    await world.gone(x);
    expect(world.proxy.requests.length - from).toBeLessThan(3 * AT_MOST);
    await expectAudited(since, 3 * AT_MOST);
  });

  // Source: O-05.
  test("an install continues with a new token when its ServiceAccount is recreated", async () => {
    const name = cluster.name("x");
    const from = world.proxy.requests.length;
    const point = world.pointAfter(IN_THE_MIDDLE);
    const x = await world.create(name);
    const account = toInstallerRef(x);
    await point.settled;
    const refused = await watchToken(account);
    await cluster.client.delete(account);
    await recreate(account);
    await refused();
    point.lift();
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    const answered = world.proxy.requests.slice(from).filter(({ user }) => user.endsWith(account.name));
    expect(answered.filter(({ status }) => status === 401).length).toBeGreaterThan(0);
    world.proxy.dropWatches();
    await world.damage(x);
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    await world.quiet();
    expect(world.proxy.requests.length - from).toBeLessThan(AT_MOST);
  });

  // Source: O-04, O-05.
  test("an upgrade resumes when a ServiceAccount that was deleted during the upgrade exists again", async () => {
    const name = cluster.name("x");
    const x = await world.create(name);
    const account = toInstallerRef(x);
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    const since = Date.now();
    const point = world.pointAfter(IN_THE_MIDDLE);
    await world.upgrade(name);
    await point.settled;
    const refused = await watchToken(account);
    await cluster.client.delete(account);
    await refused();
    point.lift();
    await eventually(async () => {
      const { Progressing } = await world.operator.conditions(name, { Progressing: "True/Retrying" });
      expect(Progressing).toContain(`service account "${account.name}" not found in namespace "${x.spec.namespace}"`);
    });
    await recreate(account);
    await world.settled(x, "2.0.0", ["v1 superseded", "v2 deployed"]);
    await world.quiet();
    await expectAudited(since, AT_MOST);
  });

  // Source: O-14.
  test("changes while watches are disconnected are detected, even when etcd has compacted their revisions", async () => {
    const name = cluster.name("x");
    const x = await world.create(name);
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    const since = Date.now();
    const changeUnseen = async (work: () => Promise<void>): Promise<number> => {
      const lift = Promise.withResolvers<void>();
      const remove = world.proxy.addHooks({ before: ({ verb }) => (verb === "watch" ? lift.promise : undefined) });
      const from = world.proxy.requests.length;
      world.proxy.dropWatches();
      await work();
      await dev().compact();
      await dev().restart("kube-apiserver");
      await eventually(() => world.operator.get(name)); // before that, a watch of extensions would only report that none exist
      remove();
      lift.resolve();
      return from;
    };
    const from = await changeUnseen(() => world.damage(x));
    await world.settled(x, "1.0.0", ["v1 deployed"]);
    const tooOld = world.proxy.requests.slice(from).filter(({ expired }) => expired);
    expect(tooOld.map(({ resource }) => resource)).toEqual(expect.arrayContaining(["clusterextensions", "configmaps", "services"]));
    await changeUnseen(() => world.upgrade(name));
    await world.settled(x, "2.0.0", ["v1 superseded", "v2 deployed"]);
    await world.quiet();
    await expectAudited(since, AT_MOST);
  });

  /** Expects requests of ours in the audit log since then, and not too many. */
  async function expectAudited(since: number, atMost: number): Promise<void> {
    const requests = await world.audited(since);
    expect(requests).toBeGreaterThan(0);
    expect(requests).toBeLessThan(atMost);
  }

  /** Uses a token of the account. @returns a function that waits until the API server rejects that token, and so every earlier one. */
  async function watchToken({ namespace = "", name }: ObjectRef): Promise<() => Promise<void>> {
    const token = await new ServiceAccountTokens(cluster.client).tokenFor(namespace, name)();
    const client = cluster.client.withToken(() => Promise.resolve(token));
    await client.raw("GET", "/version");
    return () =>
      eventually(async () => {
        const err: unknown = await client.raw("GET", "/version").catch((thrown: unknown) => thrown);
        expect(err instanceof KubeError ? err.status : "accepted").toBe(401);
      });
  }
});
