import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type KubeObject, refOf } from "../../pkg/api/k8s.ts";
import { Applier } from "../../pkg/operatorcontroller/applier.ts";
import { prune } from "../../pkg/operatorcontroller/prune.ts";
import { Uninstaller, type UninstallProgress } from "../../pkg/operatorcontroller/uninstaller.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { knownResource } from "../../pkg/rbac/resources.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { installOrder } from "../../pkg/release/order.ts";
import type { CrdPolicy } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { stepContext } from "../support/extensionFakes.ts";
import { extensionNamed } from "../support/extensions.ts";
import { configMap, releaseRecord } from "../support/releases.ts";
import { type ScopedAccount, serviceAccount } from "../support/serviceAccount.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const HOLD = "example.com/hold";
const signal = new AbortController().signal;
const everything: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const { log } = stepContext(extensionNamed("x", { packageName: "p" }));
const verbs = (applier: Applier): string[] => applier.actions.map(({ verb, ref }) => `${verb} ${ref.kind}`);

describeWithCluster("an extension's objects on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  /** An extension in a namespace of its own, with an installer that may do everything. */
  async function extension(policy?: CrdPolicy): Promise<{ x: ClusterExtension; ns: string; account: ScopedAccount; group: string }> {
    const ns = await cluster.namespace("objects");
    const { spec, ...rest } = extensionNamed(ns, { packageName: "p" });
    const account = await serviceAccount(cluster.client, ns, "installer", [everything]);
    const x = await cluster.client.create({
      ...rest,
      spec: { ...spec, namespace: ns, ...(policy ? { uninstall: { crdPolicy: policy } } : {}) },
    });
    return { x, ns, account, group: `${ns}.example.com` };
  }

  const prepare = ({ metadata: { name, uid = "" } }: ClusterExtension, objects: readonly KubeObject[]): KubeObject[] => {
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
    const options = {
      owner,
      installNamespace: name,
      isNamespaced: (gvk: { apiVersion: string; kind: string }) => knownResource(gvk)?.namespaced,
    };
    return installOrder(prepareObjects(objects, options).objects);
  };
  const exists = async (object: KubeObject): Promise<boolean> => (await cluster.client.get(refOf(object))) !== undefined;
  const live = async (objects: readonly KubeObject[]): Promise<string[]> => {
    const found = await Promise.all(objects.map(async (object) => ((await exists(object)) ? [object.kind] : [])));
    return found.flat().sort();
  };
  const hold = (object: KubeObject, finalizers: string[]): Promise<KubeObject> =>
    cluster.client.patch(refOf(object), { metadata: { finalizers } }, { type: "merge" });

  test("an apply tells what it did to each object, and puts back what was changed or deleted", async () => {
    const { x, ns, account } = await extension();
    const objects = prepare(x, [configMap("a", ns, { k: "v" }), configMap("b", ns, { k: "v" })]);
    const pass = async (): Promise<string[]> => {
      const applier = new Applier(account.client, log, signal);
      await applier.apply(objects, await applier.read(objects.map(refOf)));
      return applier.actions.map(({ verb, ref }) => `${verb} ${ref.name}`).sort();
    };
    expect(await pass()).toEqual(["created a", "created b"]);
    expect(await pass()).toEqual(["unchanged a", "unchanged b"]);
    await cluster.client.patch(refOf(objects[0]!), { data: { k: "other", theirs: "stays" } }, { type: "merge" });
    await cluster.client.delete(refOf(objects[1]!));
    expect(await pass()).toEqual(["created b", "updated a"]);
    expect((await cluster.client.get(refOf(objects[0]!)))?.["data"]).toEqual({ k: "v", theirs: "stays" });
    const applier = new Applier(account.client, log, signal);
    await applier.remove([...(await applier.read(objects.map(refOf))).values()]);
    expect(verbs(applier)).toEqual(["deleted ConfigMap", "deleted ConfigMap"]);
    expect(await live(objects)).toEqual([]);
  });

  test("a dry run tells all refusals at once and writes nothing; a binding to a role of the same set is none", async () => {
    const { x, ns, account } = await extension();
    const verbsOfObjects = ["get", "create", "patch"];
    const roles: PolicyRule = {
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["roles", "rolebindings"],
      verbs: [...verbsOfObjects, "escalate", "bind"],
    };
    await account.grant([roles]);
    const role = {
      apiVersion: RBAC,
      kind: "Role",
      metadata: { name: "r", namespace: ns },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    };
    const binding = (name: string, to: string): KubeObject => ({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name, namespace: ns },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: to },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
    });
    const fine = prepare(x, [role, binding("b", "r")]);
    const applier = new Applier(account.client, log, signal);
    await applier.dryRun(fine);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: ns }, stringData: { a: "b" } };
    const err = (await applier.dryRun(prepare(x, [...fine, configMap("c", ns), secret])).catch((thrown: unknown) => thrown)) as Error;
    expect(err.message).toMatch(/^2 errors occurred:\n\t\* Secret .*\n\t\* ConfigMap .*\n\n$/);
    for (const resource of ["configmaps", "secrets"])
      expect(err.message).toContain(`User "system:serviceaccount:${ns}:installer" cannot patch resource "${resource}" in API group ""`);
    expect(await live([...fine, secret])).toEqual([]);
    expect(applier.actions).toEqual([]);
  });

  test("an object that was made anew after it was read is left alone", async () => {
    const { ns, account } = await extension();
    const first = await cluster.client.create(configMap("a", ns, { whose: "ours" }));
    await cluster.client.delete(refOf(first));
    await cluster.client.create(configMap("a", ns, { whose: "theirs" }));
    const applier = new Applier(account.client, log, signal);
    await applier.remove([first]);
    expect(verbs(applier)).toEqual(["absent ConfigMap"]);
    expect((await cluster.client.get(refOf(first)))?.["data"]).toEqual({ whose: "theirs" });
  });

  const crd = (group: string): KubeObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  });

  const bundle = (ns: string, group: string): KubeObject[] => [
    crd(group),
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
    /** One pass of the uninstall. */
    pass: () => Promise<UninstallProgress & { did: string[] }>;
    /** Creates a custom resource. */
    thing: (finalizers?: string[]) => Promise<KubeObject>;
  }

  async function installed(policy?: CrdPolicy): Promise<Installed> {
    const { x, ns, account, group } = await extension(policy);
    const objects = prepare(x, bundle(ns, group));
    const applier = new Applier(account.client, log, signal);
    await applier.apply(objects, new Map());
    const of = (kind: string): KubeObject => objects.find((object) => object.kind === kind)!;
    onTestFinished(async () => {
      for (const object of [...objects, x]) await cluster.client.delete(refOf(object));
    });
    return {
      x,
      account,
      objects,
      of,
      pass: async () => {
        const one = new Applier(account.client, log, signal);
        const progress = await new Uninstaller(account.client, one, x, signal).run(objects.map(refOf));
        return { ...progress, did: verbs(one) };
      },
      thing: (finalizers = []) =>
        eventually(() =>
          cluster.client.create({ apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "mine", namespace: ns, finalizers } }),
        ),
    };
  }

  /** Runs passes until nothing is waited for. */
  const uninstalled = ({ pass }: Installed): Promise<UninstallProgress> =>
    eventually(async () => {
      const progress = await pass();
      expect(progress.waitingFor).toEqual([]);
      return progress;
    });

  test("without custom resources everything goes, workloads with their Pods before the rest", async () => {
    const set = await installed();
    await eventually(async () => {
      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: set.x.metadata.name });
      expect(items).toHaveLength(1);
    });
    const first = await set.pass();
    expect(first.did).toEqual(["deleted ValidatingWebhookConfiguration", "deleted Deployment"]);
    expect(first.waitingFor).toEqual([`Deployment ${set.x.metadata.name}/operator`]);
    expect(await live(set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
    expect((await uninstalled(set)).kept).toEqual([]);
    expect(await live(set.objects)).toEqual([]);
    expect((await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: set.x.metadata.name })).items).toEqual([]);
  });

  test("a webhook configuration that does not go is waited for before anything else is touched", async () => {
    const set = await installed();
    await hold(set.of("ValidatingWebhookConfiguration"), [HOLD]);
    const { did, waitingFor } = await set.pass();
    expect(did).toEqual(["deleted ValidatingWebhookConfiguration"]);
    expect(waitingFor).toEqual([describeObject(set.of("ValidatingWebhookConfiguration"))]);
    expect((await set.pass()).did).toEqual([]);
    expect(await live(set.objects)).toEqual(KINDS);
    await hold(set.of("ValidatingWebhookConfiguration"), []);
    await uninstalled(set);
    expect(await live(set.objects)).toEqual([]);
  });

  test.for<[CrdPolicy | undefined, reason: string]>([
    [undefined, "custom resources of it exist"],
    ["DeleteIfUnused", "custom resources of it exist"],
    ["Retain", "spec.uninstall.crdPolicy is Retain"],
  ])("under policy %s a definition in use stays, with its custom resources", async ([policy, reason]) => {
    const set = await installed(policy);
    const thing = await set.thing();
    const definition = set.of("CustomResourceDefinition");
    // As the Go operator-controller leaves it: the garbage collector would delete it with its extension.
    const { name, uid = "" } = set.x.metadata;
    const ownerReferences = [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid, controller: true, blockOwnerDeletion: true }];
    await cluster.client.patch(refOf(definition), { metadata: { ownerReferences } }, { type: "merge" });
    const { kept } = await uninstalled(set);
    expect(kept.map(({ text }) => text)).toEqual([`${describeObject(definition)}: ${reason}`]);
    expect(await live(set.objects)).toEqual(["CustomResourceDefinition"]);
    expect((await cluster.client.get(refOf(definition)))?.metadata.ownerReferences).toBeUndefined();
    expect(await exists(thing)).toBe(true);
  });

  test("under policy Delete custom resources go first, while the operator that may have to clean up still runs", async () => {
    const set = await installed("Delete");
    const thing = await set.thing([HOLD]);
    const { did, waitingFor } = await set.pass();
    expect(did).toEqual(["deleted ValidatingWebhookConfiguration", "deleted Thing"]);
    expect(waitingFor).toEqual([describeObject(thing)]);
    expect(await live(set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
    await hold(thing, []);
    await uninstalled(set);
    expect(await live(set.objects)).toEqual([]);
  });

  test("under policy Retain a definition that nobody uses stays too", async () => {
    const set = await installed("Retain");
    await uninstalled(set);
    expect(await live(set.objects)).toEqual(["CustomResourceDefinition"]);
  });

  test("a right that is missing in the middle is named, nothing after it is touched, and granting it is enough", async () => {
    const set = await installed();
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
    expect(await live(set.objects)).toEqual(["ConfigMap", "CustomResourceDefinition"]);
    await set.account.grant(rules([...most, "configmaps"]));
    await eventually(async () => expect((await set.pass()).waitingFor).toEqual([]));
    expect(await live(set.objects)).toEqual([]);
  });

  test("custom resources that may not be listed count as use", async () => {
    const set = await installed();
    await set.account.grant([{ ...everything, verbs: ["get", "delete", "patch"] }]);
    const { kept } = await uninstalled(set);
    expect(kept.map(({ text }) => text)).toEqual([
      expect.stringContaining("it counts as in use because its custom resources may not be listed (things.") as string,
    ]);
    expect(await live(set.objects)).toEqual(["CustomResourceDefinition"]);
  });

  test("an object that is somebody else's by now is left alone", async () => {
    const set = await installed();
    const settings = set.of("ConfigMap");
    await cluster.client.delete(refOf(settings));
    await cluster.client.create(configMap("settings", set.x.metadata.name, { whose: "theirs" }));
    await uninstalled(set);
    expect(await live(set.objects)).toEqual(["ConfigMap"]);
  });

  test("pruning removes what only older releases hold, as far as it is ours, and keeps a definition in use", async () => {
    const set = await installed();
    await set.thing();
    const { name, uid = "" } = set.x.metadata;
    const owner = { name, uid, installNamespace: name };
    const theirs = await cluster.client.create(configMap("theirs", name));
    const history = [releaseRecord(1, "deployed", { objects: [...set.objects, theirs] })];
    const desired = [set.of("Deployment")];
    const applier = new Applier(set.account.client, log, signal);
    const kept = await prune(applier, set.account.client, { history, desired, crdPolicy: "DeleteIfUnused", owner }, signal);
    expect(verbs(applier).sort()).toEqual(["deleted ConfigMap", "deleted ValidatingWebhookConfiguration"]);
    expect(kept.map(({ crd: { metadata } }) => metadata.name)).toEqual([set.of("CustomResourceDefinition").metadata.name]);
    expect(await live([...set.objects, theirs])).toEqual(["ConfigMap", "CustomResourceDefinition", "Deployment"]);
  });
});
