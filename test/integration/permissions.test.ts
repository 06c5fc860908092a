import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { findMissingPermissions } from "../../pkg/operatorcontroller/permissions/permissions.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { describeWithCluster, describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { prepareObjectsFor } from "../support/loneExtension.ts";
import { problemText } from "../support/problems.ts";
import { olmv1Prints } from "../support/runCli.ts";
import { renamedSample } from "../support/sampleBundle.ts";
import { SAMPLE_CATALOG_REF, SampleWorld } from "../support/sampleWorld.ts";
import { grantInstaller, serviceAccount } from "../support/serviceAccounts.ts";

const RBAC = "rbac.authorization.k8s.io";
const signal = new AbortController().signal;

describeWithCluster("missing permissions of a ServiceAccount on a real API server", (cluster) => {
  /** Creates a copy of the sample in its own namespace, and an account with some rules in the whole cluster. */
  async function world(rules: readonly PolicyRule[]) {
    const ns = await cluster.namespace("lacks");
    const x: ClusterExtension = createExtension(ns, { packageName: "p" });
    x.spec = { ...x.spec, namespace: ns, serviceAccount: { name: "installer" } };
    const desired = prepareObjectsFor(x, renderBundle(renamedSample(ns, "1.0.0"), { installNamespace: ns }));
    const account = await serviceAccount(cluster.client, ns, "installer", rules);
    const lacking = (objects: readonly KubeObject[] = desired, pruned: readonly KubeObject[] = []) =>
      findMissingPermissions(
        account.client,
        { extension: x, desired: objects, pruned, resourceOf: findKnownResource, images: ["quay.io/p:v1"] },
        signal,
      );
    return { ns, x, desired, account, lacking };
  }

  test("the permission check reports nothing for a ServiceAccount with all permissions", async () => {
    const { lacking } = await world([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    await eventually(async () => expect(await lacking()).toBeUndefined());
  });

  test("the permission check reports all missing permissions at once, with details and the command that grants them", async () => {
    const { ns, lacking, account } = await world([]);
    const { text, problem, uncertain } = (await lacking())!;
    const [head, ...lines] = text.split("\n  ");
    expect(head).toBe("pre-authorization failed: service account requires the following permissions to manage cluster extension:");
    expect(lines.length).toBeGreaterThan(5);
    expect(lines).toContain(`Namespace:"${ns}" APIGroups:[] Resources:[pods,resourcequotas] Verbs:[list]`);
    expect(text).toContain(
      `Namespace:"${ns}" APIGroups:[apps] Resources:[deployments] ResourceNames:[${ns}-operator] Verbs:[create,delete,get,list,patch,watch]`,
    );
    expect(text).toContain(
      `Namespace:"" APIGroups:[apiextensions.k8s.io] Resources:[customresourcedefinitions] ResourceNames:[greetings.${ns}.example.com]`,
    );
    expect(text).toMatch(/Namespace:"" APIGroups:\[rbac\.authorization\.k8s\.io\] Resources:\[clusterroles\] .*escalate/);
    expect(problem).toMatchObject({
      type: "MissingPermissions",
      message: `ServiceAccount ${ns}/installer lacks permissions that the bundle needs`,
      next: `olmv1 rbac quay.io/p:v1 --namespace ${ns} --service-account installer | kubectl apply -f -`,
      details: {
        permissions: expect.arrayContaining([{ namespace: ns, apiGroups: [""], resources: ["pods", "resourcequotas"], verbs: ["list"] }]),
      },
    });
    expect(uncertain).toBe(false);
    await account.grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "create", "patch", "delete", "escalate", "bind"] }]);
    await eventually(async () => expect(await lacking()).toBeUndefined());
  });

  test("the permission check reports missing permissions for cluster-scoped objects when permissions exist only in one namespace", async () => {
    const { ns, lacking } = await world([]);
    const binding: KubeObject = {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: "all", namespace: ns },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "installer", namespace: ns }],
    };
    await cluster.client.create(binding);
    await eventually(async () => {
      const { text } = (await lacking())!;
      expect(text).not.toContain(`Namespace:"${ns}"`);
      expect(text).toContain("Resources:[clusterrolebindings]");
    });
  });

  test("the permission check requires neither escalate nor bind for a ServiceAccount with all rules of the bundle's roles", async () => {
    const own: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "create", "patch", "delete"] };
    const { lacking, desired, account } = await world([own]);
    await eventually(async () => expect((await lacking())?.text).toContain("Verbs:[bind,escalate,list,watch]"));
    const given = desired.flatMap((object) =>
      object.kind === "ClusterRole" || object.kind === "Role" ? (object["rules"] as PolicyRule[]) : [],
    );
    expect(given.length).toBeGreaterThan(0);
    await account.grant([own, ...given]);
    await eventually(async () => expect(await lacking()).toBeUndefined());
  });

  test("the permission check leaves a binding to an existing role to the dry run, because the ServiceAccount may have the rules of that role", async () => {
    const { ns, x, lacking, account } = await world([]);
    const binding: KubeObject = {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: "theirs", namespace: ns },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
    };
    expect((await lacking(prepareObjectsFor(x, [binding])))?.uncertain).toBe(false);
    await account.grant([{ apiGroups: [RBAC], resources: ["rolebindings"], verbs: ["*"] }]);
    await eventually(async () => {
      const found = await lacking(prepareObjectsFor(x, [binding]));
      expect(found).toMatchObject({ uncertain: true, text: expect.stringContaining("ResourceNames:[view] Verbs:[bind]") as string });
    });
  });

  // S0-013: objects that a version no longer contains are deleted
  test("the permission check reports missing permissions to delete objects that an upgrade prunes", async () => {
    const { ns, x, lacking, account } = await world([]);
    const verbs = ["get", "create", "patch", "delete"];
    await account.grant([{ apiGroups: [""], resources: ["configmaps"], resourceNames: ["new"], verbs }]);
    const configMapNamed = (name: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: ns } });
    await eventually(async () => expect(await lacking(prepareObjectsFor(x, [configMapNamed("new")]))).toBeUndefined());
    expect((await lacking(prepareObjectsFor(x, [configMapNamed("new")]), [configMapNamed("old")]))?.text).toContain(
      "ResourceNames:[old] Verbs:[delete,get]",
    );
  });

  test("one request detects a change of a ServiceAccount's permissions, and ignores changes of other accounts", async () => {
    const { ns, lacking, account } = await world([]);
    const { isOver } = (await lacking())!;
    await serviceAccount(cluster.client, ns, "another", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    expect(await isOver(signal)).toBe(false);
    await account.grant([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
    await eventually(async () => expect(await isOver(signal)).toBe(true));
  });
});

/** Returns the output of `olmv1 rbac`, with the registries of the world. */
function rbac({ world }: SampleWorld, ...args: string[]): Promise<string> {
  return olmv1Prints("rbac", ...args, "--registries-conf", join(world.workDir, "registries.conf"));
}

/** Runs the command that a problem contains, and applies its output. */
async function runPrinted(sample: SampleWorld, object: KubeObject): Promise<void> {
  const command = /olmv1 rbac ([^|]*) \|/.exec(formatProblems(object))?.[1] ?? "";
  const printed = await rbac(sample, ...command.split(" "));
  for (const object of parseYamlDocuments(printed) as KubeObject[]) await sample.world.apply(object);
}

function waitUntilDenied({ world }: SampleWorld, name: string): Promise<KubeObject> {
  return world.condition("ClusterExtension", name, (c) => c("Progressing")?.message.includes("pre-authorization failed") ?? false);
}

describeWithPrivateCluster("an extension that waits", (cluster) => {
  let sample: SampleWorld;
  beforeAll(async () => {
    sample = await SampleWorld.start(cluster, "10m");
  });
  afterAll(async () => {
    await sample?.world.stop();
  });

  const getUser = (x: ClusterExtension): string => `system:serviceaccount:${getNamespace(x)}:${x.spec.serviceAccount?.name}`;

  /** Returns the requests for an extension in order: requests of its ServiceAccount, requests for its token, and reads and writes of the extension. */
  async function listRequests(x: ClusterExtension): Promise<string[]> {
    const { name } = x.metadata;
    const about = (await cluster.auditEvents()).filter(
      ({ user, objectRef }) =>
        user.username === getUser(x) ||
        (user.username.endsWith("operator-controller-controller-manager") &&
          (objectRef?.name === name || objectRef?.namespace === getNamespace(x))),
    );
    return about.map(({ verb, objectRef }) => [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(" "));
  }

  /** Waits until this request was sent four times for the extension with no other request in between. */
  async function waitsWith(x: ClusterExtension, request: string): Promise<void> {
    await eventually(async () => expect((await listRequests(x)).slice(-4)).toEqual(Array(4).fill(request)));
  }

  async function goesOn(x: ClusterExtension): Promise<void> {
    await sample.world.installed(x.metadata.name, "1.0.0");
    await sample.world.removed("ClusterExtension", x.metadata.name);
    expect(await sample.owned(x.metadata.name)).toEqual([]);
  }

  test("an extension that waits for permissions reports all of them at once, writes nothing and sends one request at a time", async () => {
    const x = createExtension("poor", { packageName: SAMPLE_PACKAGE, version: "1.0.0" });
    await grantInstaller(cluster.client, x, []);
    await sample.world.apply(x);
    const poor = await waitUntilDenied(sample, "poor");
    const message = progressing(poor);
    expect(message).toMatch(/^error for resolved bundle "hello-operator\.v1\.0\.0" with version "1\.0\.0": pre-authorization failed: /);
    for (const resource of ["deployments", "configmaps", "clusterroles", "customresourcedefinitions"])
      expect(message).toMatch(new RegExp(`Resources:\\[[^\\]]*${resource}`));
    await waitsWith(x, "create selfsubjectrulesreviews");
    const requested = (await cluster.auditEvents())
      .filter(({ user }) => user.username === getUser(x))
      .map(({ objectRef }) => objectRef?.resource);
    expect(new Set(requested)).toEqual(new Set(["selfsubjectrulesreviews"]));
    expect(await sample.owned("poor")).toEqual([]);
    await runPrinted(sample, poor);
    await goesOn(x);
  });

  test("an extension polls its missing namespace, and then its missing ServiceAccount with token requests", async () => {
    const x = createExtension("nobody", { packageName: SAMPLE_PACKAGE, version: "1.0.0" });
    await sample.world.apply(x);
    await sample.world.condition("ClusterExtension", "nobody", (_, x) => formatProblems(x).startsWith("Error NamespaceNotFound: "));
    await waitsWith(x, "get namespaces");
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: getNamespace(x) } });
    await sample.world.condition("ClusterExtension", "nobody", (_, object) =>
      /^Error (TokenDenied: .*; next: olmv1 rbac --token-only|ServiceAccountNotFound)/.test(formatProblems(object)),
    );
    await waitsWith(x, "create serviceaccounts token");
    await grantInstaller(cluster.client, x, sample.rendered("1.0.0", getNamespace(x)));
    await goesOn(x);
  });
});

describeWithPrivateCluster("an extension whose ServiceAccount lacks permissions", (cluster) => {
  let sample: SampleWorld;
  beforeAll(async () => {
    sample = await SampleWorld.start(cluster);
  });
  afterAll(async () => {
    await sample?.world.stop();
  });

  test("an upgrade that needs more permissions keeps the installed bundle reconciled, and resumes when they are granted", async () => {
    const x = createExtension("modest", { packageName: SAMPLE_PACKAGE, version: "1.0.0" });
    await grantInstaller(cluster.client, x, sample.rendered("1.0.0", getNamespace(x)));
    await sample.world.apply(x);
    await sample.world.installed("modest", "1.0.0");
    const before = await sample.owned("modest");
    const { catalog } = x.spec.source;
    const wider: ClusterExtension = {
      ...x,
      spec: { ...x.spec, source: { sourceType: "Catalog", catalog: { ...catalog!, version: "1.x" } } },
    };
    await sample.world.apply(wider);
    const after = await waitUntilDenied(sample, "modest");
    expect((after["status"] as ClusterExtension["status"])?.install?.bundle.version).toBe("1.0.0");
    expect(getConditions(after).find(({ type }) => type === "Installed")?.status).toBe("True");
    expect(await sample.owned("modest")).toEqual(before);
    await sample.damageIsRepaired(x);

    await runPrinted(sample, after);
    await sample.world.condition("ClusterExtension", "modest", (_, object) => {
      const version = (object["status"] as ClusterExtension["status"])?.install?.bundle.version;
      return version !== undefined && version !== "1.0.0";
    });
    await sample.world.removed("ClusterExtension", "modest");
    expect(await sample.owned("modest")).toEqual([]);
  });

  test("spec.permissions Warn installs the bundle, and a problem lists missing permissions as long as they are missing", async () => {
    const x = createExtension("bold", { packageName: SAMPLE_PACKAGE, version: "1.0.0", channels: ["stable"] });
    x.spec = { ...x.spec, install: { permissions: "Warn" } };
    const granted = await grantInstaller(cluster.client, x, sample.rendered("1.0.0", getNamespace(x)), { withoutVerb: "delete" });
    await sample.world.apply(x);
    const installed = await sample.world.installed("bold", "1.0.0");
    expect(progressing(installed)).toBe("Desired state reached");
    expect(formatProblems(installed)).toContain("Warning MissingPermissions: ServiceAccount bold-system/");
    await granted.complete();
    await sample.world.condition(
      "ClusterExtension",
      "bold",
      (c, object) => c("Progressing")?.message === "Desired state reached" && formatProblems(object) === "",
    );
    const lessened = await grantInstaller(cluster.client, x, sample.rendered("1.0.0", getNamespace(x)), { withoutVerb: "patch" });
    const phrases = { apiVersion: "v1", kind: "ConfigMap", namespace: getNamespace(x), name: "hello-operator-phrases" };
    await eventually(
      async () => {
        await cluster.client.delete(phrases);
        const now = await cluster.client.get({ ...x, name: "bold" });
        expect(progressing(now!)).toMatch(/is forbidden: /);
        expect(formatProblems(now!)).toContain("Warning MissingPermissions");
      },
      { intervalMs: 1_000 },
    );
    await lessened.complete();
    await sample.world.condition(
      "ClusterExtension",
      "bold",
      (c, object) => c("Progressing")?.message === "Desired state reached" && formatProblems(object) === "",
    );
    expect(await cluster.client.get(phrases)).toBeDefined();
    await sample.world.removed("ClusterExtension", "bold");
  });

  test("olmv1 rbac grants the permissions for all versions in a range, from a catalog image or from catalogd", async () => {
    const x = createExtension("ranged", { packageName: SAMPLE_PACKAGE, version: "1.0.0" });
    const namespace = getNamespace(x);
    const { serviceAccount: account } = x.spec;
    const names = ["--namespace", namespace, "--service-account", account?.name ?? ""];
    const fromImage = await rbac(sample, SAMPLE_PACKAGE, "--catalog", SAMPLE_CATALOG_REF, "--version", "1.x", ...names);
    const served = `${sample.world.installation.catalogs}/catalogs/sample`;
    expect(await rbac(sample, SAMPLE_PACKAGE, "--catalog-url", served, "--version", "1.x", ...names)).toBe(fromImage);
    expect(fromImage.split("\n")[0]).toBe("# for hello-operator.v1.2.0, hello-operator.v1.1.0, hello-operator.v1.0.0");
    await sample.world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    for (const object of parseYamlDocuments(fromImage) as KubeObject[]) await sample.world.apply(object);
    await sample.world.apply(x);
    await sample.world.installed("ranged", "1.0.0");
    await sample.world.apply({
      ...x,
      spec: { ...x.spec, source: { sourceType: "Catalog", catalog: { packageName: SAMPLE_PACKAGE, version: "1.2.0" } } },
    });
    await sample.world.installed("ranged", "1.2.0");
    await sample.world.removed("ClusterExtension", "ranged");
    const same = await rbac(sample, SAMPLE_PACKAGE, "--catalog-url", served, "--version", "1.1.0", "--diff", "1.1.0");
    expect(same).toContain("from hello-operator.v1.1.0 to hello-operator.v1.1.0\n");
  });

  // S0-057, S0-070
  test("olmv1 rbac creates roles for users of the APIs on request, and removes them", async () => {
    const x = await sample.installed("served", "1.0.0");
    const role = { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", name: "greetings.hello.example.com-v1alpha1-view" };
    expect(await cluster.client.get(role)).toBeUndefined();
    const namespace = getNamespace(x);
    const aggregating: ClusterExtension = { ...x, spec: { ...x.spec, install: { userRoles: "Aggregate" } } };
    await sample.world.apply(aggregating);
    await runPrinted(sample, await waitUntilDenied(sample, "served"));
    await eventually(async () => expect(await cluster.client.get(role)).toBeDefined());
    const viewer = await serviceAccount(cluster.client, namespace, "viewer", []);
    await cluster.client.apply(
      {
        apiVersion: `${RBAC}/v1`,
        kind: "RoleBinding",
        metadata: { name: "viewer", namespace },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" },
        subjects: [{ kind: "ServiceAccount", name: "viewer", namespace }],
      },
      { fieldManager: "test" },
    );
    const greetings = { apiVersion: "hello.example.com/v1alpha1", kind: "Greeting" };
    await eventually(async () => expect((await viewer.client.list(greetings, { namespace })).items).toEqual([]));
    await expect(viewer.client.delete({ ...greetings, namespace, name: "any" })).rejects.toThrow("forbidden");
    await sample.world.apply({ ...x, spec: { ...x.spec, install: { userRoles: "None" } } });
    await eventually(async () => expect(await cluster.client.get(role)).toBeUndefined());
    await sample.world.removed("ClusterExtension", "served");
  });
});

function formatProblems(object: KubeObject): string {
  return problemText(object["status"] as ClusterExtension["status"]);
}

function progressing(object: KubeObject): string {
  return getConditions(object).find(({ type }) => type === "Progressing")?.message ?? "";
}

function getConditions(object: KubeObject): Condition[] {
  return (object["status"] as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}
