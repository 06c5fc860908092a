import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { Applier } from "../../pkg/operatorcontroller/apply/applier.ts";
import { removeCrds } from "../../pkg/operatorcontroller/apply/keptCrds.ts";
import { prune } from "../../pkg/operatorcontroller/apply/prune.ts";
import { Uninstaller, type UninstallProgress } from "../../pkg/operatorcontroller/reconcile/delete.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import type { CrdPolicy } from "../../pkg/release/plan.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { stepContext } from "../support/extensionFakes.ts";
import { EVERYTHING, listActions, liveKinds, loneExtension, prepareObjectsFor } from "../support/loneExtension.ts";
import { configMap, releaseRecord } from "../support/releases.ts";
import type { ScopedAccount } from "../support/serviceAccounts.ts";

const HOLD = "example.com/hold";
const signal = new AbortController().signal;
const { log } = stepContext();

describeWithCluster("removing an extension's objects on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  const hold = (object: KubeObject, finalizers: string[]): Promise<KubeObject> =>
    cluster.client.patch(toObjectRef(object), { metadata: { finalizers } }, { type: "merge" });

  const bundle = (ns: string, group: string): KubeObject[] => [
    thingDefinition(group),
    configMap("settings", ns),
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "operator", namespace: ns },
      spec: {
        selector: { matchLabels: { app: "operator" } },
        template: {
          metadata: { labels: { app: "operator" } },
          spec: { containers: [{ name: "manager", image: "registry.example.com/m:1" }] },
        },
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: `hook.${group}` },
      webhooks: [],
    },
  ];
  const KINDS = ["ConfigMap", "CustomResourceDefinition", "Deployment", "ValidatingWebhookConfiguration"];

  interface Installed {
    x: ClusterExtension;
    account: ScopedAccount;
    objects: KubeObject[];
    of: (kind: string) => KubeObject;
    /** Runs one reconcile of the uninstall. */
    pass: () => Promise<UninstallProgress & { did: string[] }>;
    /** Creates a custom resource. */
    thing: (finalizers?: string[]) => Promise<KubeObject>;
  }

  async function install(policy?: CrdPolicy): Promise<Installed> {
    const { x, ns, account } = await loneExtension(cluster, policy);
    const group = `${ns}.example.com`;
    const objects = prepareObjectsFor(x, bundle(ns, group));
    const applier = new Applier(account.client, log, signal);
    await applier.apply(objects, new Map());
    const findKind = (kind: string): KubeObject => objects.find((object) => object.kind === kind)!;
    onTestFinished(async () => {
      for (const object of [...objects, x]) await cluster.client.delete(toObjectRef(object));
    });
    return {
      x,
      account,
      objects,
      of: findKind,
      pass: async () => {
        const one = new Applier(account.client, log, signal);
        const progress = await new Uninstaller(account.client, one, x, signal).run(objects.map(toObjectRef));
        return { ...progress, did: listActions(one) };
      },
      thing: (finalizers = []) =>
        eventually(() =>
          cluster.client.create({ apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "mine", namespace: ns, finalizers } }),
        ),
    };
  }

  /** Runs reconciles until there is nothing to wait for. */
  const uninstall = ({ pass }: Installed): Promise<UninstallProgress> =>
    eventually(async () => {
      const progress = await pass();
      expect(progress.waitingFor).toEqual([]);
      return progress;
    });

  test("uninstall without custom resources deletes all objects, starting with workloads and their Pods", async () => {
    const set = await install();
    await eventually(async () => {
      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: set.x.metadata.name });
      expect(items).toHaveLength(1);
    });
    const first = await set.pass();
    expect(first.did).toEqual(["deleted ValidatingWebhookConfiguration", "deleted Deployment"]);
    expect(first.waitingFor).toEqual([`Deployment ${set.x.metadata.name}/operator`]);
    expect(await liveKinds(cluster, set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
    expect((await uninstall(set)).kept).toEqual([]);
    expect(await liveKinds(cluster, set.objects)).toEqual([]);
    expect((await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: set.x.metadata.name })).items).toEqual([]);
  });

  test("uninstall deletes other objects only after the webhook configurations are deleted", async () => {
    const set = await install();
    await hold(set.of("ValidatingWebhookConfiguration"), [HOLD]);
    const { did, waitingFor } = await set.pass();
    expect(did).toEqual(["deleted ValidatingWebhookConfiguration"]);
    expect(waitingFor).toEqual([describeObject(set.of("ValidatingWebhookConfiguration"))]);
    expect((await set.pass()).did).toEqual([]);
    expect(await liveKinds(cluster, set.objects)).toEqual(KINDS);
    await hold(set.of("ValidatingWebhookConfiguration"), []);
    await uninstall(set);
    expect(await liveKinds(cluster, set.objects)).toEqual([]);
  });

  test.for<[CrdPolicy | undefined, reason: string]>([
    [undefined, "custom resources exist"],
    ["DeleteIfUnused", "custom resources exist"],
    ["Retain", "spec.uninstall.crdPolicy is Retain"],
  ])("uninstall with policy %s keeps a CRD that has custom resources", async ([policy, reason]) => {
    const set = await install(policy);
    const thing = await set.thing();
    const definition = set.of("CustomResourceDefinition");
    // An owner reference as the Go operator-controller writes it, with which the garbage collector would delete the definition after its extension.
    const { name, uid = "" } = set.x.metadata;
    const ownerReferences = [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid, controller: true, blockOwnerDeletion: true }];
    await cluster.client.patch(toObjectRef(definition), { metadata: { ownerReferences } }, { type: "merge" });
    const { kept } = await uninstall(set);
    expect(kept.map(({ text }) => text)).toEqual([`${describeObject(definition)}: ${reason}`]);
    expect(await liveKinds(cluster, set.objects)).toEqual(["CustomResourceDefinition"]);
    expect((await cluster.client.get(toObjectRef(definition)))?.metadata.ownerReferences).toBeUndefined();
    expect(await liveKinds(cluster, [thing])).toEqual(["Thing"]);
  });

  test("uninstall with policy Delete deletes custom resources before the operator, which runs their finalizers", async () => {
    const set = await install("Delete");
    const thing = await set.thing([HOLD]);
    const { did, waitingFor } = await set.pass();
    expect(did).toEqual(["deleted ValidatingWebhookConfiguration", "deleted Thing"]);
    expect(waitingFor).toEqual([describeObject(thing)]);
    expect(await liveKinds(cluster, set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
    await hold(thing, []);
    await uninstall(set);
    expect(await liveKinds(cluster, set.objects)).toEqual([]);
  });

  test("uninstall with policy Retain keeps a CRD without custom resources", async () => {
    const set = await install("Retain");
    await uninstall(set);
    expect(await liveKinds(cluster, set.objects)).toEqual(["CustomResourceDefinition"]);
  });

  test("uninstall stops at a missing permission, reports it, and resumes when the permission is granted", async () => {
    const set = await install();
    const rules = (resources: string[]): PolicyRule[] => [
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] },
      { apiGroups: ["*"], resources, verbs: ["delete"] },
    ];
    const most = ["validatingwebhookconfigurations", "deployments", "customresourcedefinitions"];
    await set.account.grant(rules(most));
    const refused =
      /^delete ConfigMap .*\/settings: configmaps "settings" is forbidden: User "system:serviceaccount:.*:installer" cannot delete resource "configmaps"/;
    await eventually(async () => {
      const message = await set.pass().then(
        ({ waitingFor }) => waitingFor.join(),
        (err: Error) => err.message,
      );
      expect(message).toMatch(refused);
    });
    expect(await liveKinds(cluster, set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition"]);
    await set.account.grant(rules([...most, "configmaps"]));
    await eventually(async () => expect((await set.pass()).waitingFor).toEqual([]));
    expect(await liveKinds(cluster, set.objects)).toEqual([]);
  });

  test("uninstall keeps a CRD when its custom resources cannot be listed", async () => {
    const set = await install();
    await set.account.grant([{ ...EVERYTHING, verbs: ["get", "delete", "patch"] }]);
    const { kept } = await uninstall(set);
    expect(kept.map(({ text }) => text)).toEqual([
      expect.stringContaining("treated as in use: listing its custom resources is forbidden (things.") as string,
    ]);
    expect(await liveKinds(cluster, set.objects)).toEqual(["CustomResourceDefinition"]);
  });

  const crdSpec = (set: Installed, spec: object): Promise<KubeObject> =>
    cluster.client.patch(toObjectRef(set.of("CustomResourceDefinition")), { spec }, { type: "merge" });
  const versions = (set: Installed): { name: string; served: boolean }[] =>
    (set.of("CustomResourceDefinition")["spec"] as { versions: { name: string; served: boolean }[] }).versions;
  /** Returns the kept definitions and their reasons after all other objects are deleted. */
  async function keptAfter(set: Installed): Promise<string[]> {
    const { kept } = await uninstall(set);
    expect(await liveKinds(cluster, set.objects)).toEqual(["CustomResourceDefinition"]);
    return kept.map(({ text }) => text.slice(text.indexOf(": ") + 2));
  }

  test("uninstall keeps a CRD when none of its versions is served, so that its custom resources are kept", async () => {
    const set = await install();
    const thing = await set.thing();
    await crdSpec(set, { versions: versions(set).map((version) => ({ ...version, served: false })) });
    expect(await keptAfter(set)).toEqual(["treated as in use: no version is served, so its custom resources cannot be listed"]);
    await crdSpec(set, { versions: versions(set) });
    await eventually(async () => expect(await liveKinds(cluster, [thing])).toEqual(["Thing"])); // when it is served again
  });

  test("uninstall keeps a CRD when its custom resources are still being deleted", async () => {
    const set = await install();
    const thing = await set.thing([HOLD]);
    await cluster.client.delete(toObjectRef(thing));
    expect(await keptAfter(set)).toEqual(["custom resources exist"]);
    await hold(thing, []);
  });

  test("uninstall keeps a CRD when the API server has not accepted its names", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const group = `${ns}.example.com`;
    const { spec, ...first } = thingDefinition(group);
    const names = { plural: "firsts", singular: "first", kind: "Thing", listKind: "ThingList" };
    const other = { ...first, metadata: { name: `firsts.${group}` }, spec: { ...(spec as object), names } };
    await cluster.client.create(other);
    await eventually(() => cluster.client.list({ apiVersion: `${group}/v1`, kind: "Thing" }));
    const objects = prepareObjectsFor(x, [thingDefinition(group)]);
    const applier = new Applier(account.client, log, signal);
    await applier.apply(objects, new Map());
    onTestFinished(async () => {
      for (const object of [other, ...objects, x]) await cluster.client.delete(toObjectRef(object));
    });
    await eventually(async () => {
      const { conditions = [] } = ((await cluster.client.get(toObjectRef(objects[0]!)))?.["status"] ?? {}) as {
        conditions?: { type: string }[];
      };
      expect(conditions.map(({ type }) => type)).toContain("NamesAccepted");
    });
    const { kept } = await new Uninstaller(account.client, applier, x, signal).run(objects.map(toObjectRef));
    expect(kept.map(({ text }) => text)).toEqual([
      `${describeObject(objects[0]!)}: treated as in use: the API server has not accepted its names`,
    ]);
    expect(await liveKinds(cluster, objects)).toEqual(["CustomResourceDefinition"]);
  });

  test("uninstall checks a CRD again when it changes between check and delete, and keeps the CRD if it has custom resources by then", async () => {
    const set = await install();
    const crd = (await cluster.client.get(toObjectRef(set.of("CustomResourceDefinition"))))!;
    await eventually(() => cluster.client.list({ apiVersion: `${set.x.metadata.name}.example.com/v1`, kind: "Thing" }));
    let lists = 0;
    const client: Pick<Client, "get" | "list" | "raw"> = {
      get: (ref, options) => set.account.client.get(ref, options),
      raw: (...request) => set.account.client.raw(...request),
      list: async (gvk, options) => {
        const found = await set.account.client.list(gvk, options);
        if (lists++ === 0) {
          await set.thing();
          await cluster.client.patch(toObjectRef(crd), { metadata: { annotations: { touched: "yes" } } }, { type: "merge" });
        }
        return found as never;
      },
    };
    const applier = new Applier(set.account.client, log, signal);
    const { kept, deleting } = await removeCrds(applier, client, [crd], { policy: "DeleteIfUnused" }, signal);
    expect({ lists, deleting, kept: kept.map(({ text }) => text) }).toEqual({
      lists: 2,
      deleting: [],
      kept: [`${describeObject(crd)}: custom resources exist`],
    });
    expect(await liveKinds(cluster, [crd])).toEqual(["CustomResourceDefinition"]);
  });

  test("pruning keeps a CRD when none of its versions is served, so that its custom resources are kept", async () => {
    const set = await install();
    const thing = await set.thing();
    await crdSpec(set, { versions: versions(set).map((version) => ({ ...version, served: false })) });
    const { name, uid = "" } = set.x.metadata;
    const owner = { name, uid, installNamespace: name };
    const history = [releaseRecord(1, "deployed", { objects: set.objects })];
    const applier = new Applier(set.account.client, log, signal);
    const desired = set.objects.filter(({ kind }) => kind !== "CustomResourceDefinition");
    const { kept } = await prune(applier, set.account.client, { history, desired, crdPolicy: "DeleteIfUnused", owner }, signal);
    expect(kept.map(({ text }) => text)).toEqual([expect.stringContaining("no version is served") as string]);
    await crdSpec(set, { versions: versions(set) });
    await eventually(async () => expect(await liveKinds(cluster, [thing])).toEqual(["Thing"])); // when it is served again
  });

  test("uninstall does not delete an object that has a new owner", async () => {
    const set = await install();
    const settings = set.of("ConfigMap");
    await cluster.client.delete(toObjectRef(settings));
    await cluster.client.create(configMap("settings", set.x.metadata.name, { whose: "theirs" }));
    await uninstall(set);
    expect(await liveKinds(cluster, set.objects)).toEqual(["ConfigMap"]);
  });

  test("pruning deletes objects that only older releases contain, but keeps a CRD that has custom resources", async () => {
    const set = await install();
    await set.thing();
    const { name, uid = "" } = set.x.metadata;
    const owner = { name, uid, installNamespace: name };
    const theirs = await cluster.client.create(configMap("theirs", name));
    const history = [releaseRecord(1, "deployed", { objects: [...set.objects, theirs] })];
    const desired = [set.of("Deployment")];
    const applier = new Applier(set.account.client, log, signal);
    const { kept } = await prune(applier, set.account.client, { history, desired, crdPolicy: "DeleteIfUnused", owner }, signal);
    expect(listActions(applier).sort()).toEqual(["deleted ConfigMap", "deleted ValidatingWebhookConfiguration"]);
    expect(kept.map(({ crd: { metadata } }) => metadata.name)).toEqual([set.of("CustomResourceDefinition").metadata.name]);
    expect(await liveKinds(cluster, [...set.objects, theirs])).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
  });
});
