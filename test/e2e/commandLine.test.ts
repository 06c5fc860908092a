import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, LABEL_CREATED_FOR } from "../../pkg/api/constants.ts";
import { SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";
import type { InstallPlan } from "../../pkg/operatorcontroller/plan/installPlan.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { type CliRun, type Ended, runCli } from "../support/runCli.ts";
import { SAMPLE_CATALOG_REF, SampleWorld } from "../support/sampleWorld.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

const DEFINITION = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "greetings.hello.example.com" };
const GREETING = { apiVersion: "hello.example.com/v1alpha1", kind: "Greeting" };

// Source: D-01, D-03, D-07, D-12, D-28: everyday tasks with the command line only.
describeWithPrivateCluster("olmv1", (cluster) => {
  let sample: SampleWorld;

  beforeAll(async () => {
    sample = await SampleWorld.start(cluster);
  });
  afterAll(async () => {
    await sample?.world.stop();
  });

  const CLUSTER_ONLY: ReadonlySet<string> = new Set([
    "catalog",
    "list",
    "get",
    "describe",
    "events",
    "history",
    "uninstall",
    "approve",
    "tree",
  ]);
  const run = (args: readonly string[], how: CliRun = {}): Promise<Ended> => {
    const access = ["--kubeconfig", cluster.kubeconfig];
    const registries = ["--registries-conf", join(sample.world.workDir, "registries.conf")];
    return runCli([...args, ...access, ...(CLUSTER_ONLY.has(args[0] ?? "") ? [] : registries)], { width: 200, ...how });
  };
  const olmv1 = (...args: string[]): Promise<Ended> => run(args);
  const WAITING = ["--yes", "--timeout", "2m"];
  /** Returns objects that olmv1 created for an extension, such as "Role hello-installer". */
  const listCreated = async (name: string): Promise<string[]> => {
    const kinds = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind,
    }));
    const all = [...kinds, { apiVersion: "v1", kind: "ServiceAccount" }, { apiVersion: "v1", kind: "Namespace" }];
    const found = await Promise.all(all.map((kind) => cluster.client.list(kind, { labelSelector: `${LABEL_CREATED_FOR}=${name}` })));
    return found.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  };
  const greeting = (namespace: string): Promise<unknown> =>
    cluster.client.create({ ...GREETING, metadata: { name: "world", namespace }, spec: { name: "World" } });

  test("olmv1 installs, upgrades, rolls back and uninstalls an operator", async () => {
    const added = await olmv1("catalog", "add", "story", SAMPLE_CATALOG_REF, "--priority", "10", "--wait");
    expect(added).toMatchObject({ code: 0 });
    const found = await olmv1("search", "hello", "--catalog", "story", "--no-cache");
    expect(found).toMatchObject({ code: 0, out: expect.stringMatching(/^hello-operator +/m) as string });
    const args = ["install", SAMPLE_PACKAGE, "--name", "story", "-n", "story", "--version", "1.0.0", "--create-service-account"];
    const refused = await olmv1(...args);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("ServiceAccount story/story-installer gets these permissions to install the bundle");
    expect(refused.err).toContain("manage customresourcedefinitions.apiextensions.k8s.io: greetings.hello.example.com");
    expect(refused.err).toContain("olmv1: not a terminal: use --yes to confirm");
    expect(await listCreated("story")).toEqual([]);
    expect(await run(args, { interactive: true, stdin: "n\n" })).toMatchObject({ code: 1, out: "" });

    const shown = await olmv1(...args, "--dry-run=client", "-o", "json");
    expect((JSON.parse(shown.out) as { items: { kind: string }[] }).items.map(({ kind }) => kind)).toEqual([
      "Namespace",
      "ServiceAccount",
      "ClusterRole",
      "ClusterRoleBinding",
      "Role",
      "RoleBinding",
      "Role",
      "RoleBinding",
      "ClusterExtension",
    ]);
    expect((await olmv1(...args, "--dry-run=server")).out).toContain("namespace/story created (server dry run)");
    expect(await listCreated("story")).toEqual([]);

    const installed = await run(args, { interactive: true, stdin: "y\n" });
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.out).toContain("clusterextension.olm.operatorframework.io/story created\n");
    expect(installed.err).toContain("story: hello-operator.v1.0.0 (version 1.0.0) is installed and ready after");
    const before = await listCreated("story");
    expect(before.sort()).toEqual(
      [
        "ClusterRole story-story-installer",
        "ClusterRoleBinding story-story-installer",
        "Namespace story",
        "Role story-installer",
        "Role story-installer-token",
        "RoleBinding story-installer",
        "RoleBinding story-installer-token",
        "ServiceAccount story-installer",
      ].sort(),
    );
    expect(await olmv1(...args, "--yes")).toMatchObject({ code: 0, out: "clusterextension.olm.operatorframework.io/story unchanged\n" });

    expect((await olmv1("list")).out).toMatch(/^story +hello-operator +1\.0\.0 +\(1\.2\.0 blocked\) +story +story +Ready +\d\S*\n/m);
    expect((await olmv1("list", "--outdated", "-o", "name")).out).toBe("clusterextension.olm.operatorframework.io/story\n");
    expect((await olmv1("list", "--apis")).out).toMatch(/Greeting +hello\.example\.com +v1alpha1 +story +all\n/);
    expect((await olmv1("get", "story", "-o", "jsonpath={.status.install.bundle.version}")).out).toBe("1.0.0");
    await eventually(async () =>
      expect((await olmv1("events", "story")).out).toMatch(/Normal +Installed +installed bundle "hello-operator.v1.0.0"/),
    );
    const described = await olmv1("describe", "story");
    expect(described.out).toMatch(/^Installer: +ServiceAccount story\/story-installer, created by olmv1 install; it has the permissions/m);
    expect(described.out).toContain("Objects: 9, all ready");

    const { apiVersion, kind, metadata, spec } = JSON.parse((await olmv1("get", "story", "-o", "json")).out) as ClusterExtension;
    spec.source.catalog!.version = "1.1.0";
    const stdin = JSON.stringify({ apiVersion, kind, metadata: { name: metadata.name }, spec });
    const planned = JSON.parse((await run(["plan", "-f", "-", "-o", "json"], { stdin })).out) as InstallPlan;
    expect(planned).toMatchObject({ bundle: { version: "1.1.0" }, findings: [], counts: { create: 3, update: 3, delete: 3 } });

    expect(await olmv1("upgrade", "story")).toMatchObject({
      code: 0,
      out: expect.stringContaining('is the newest version that the extension can get with version range "1.0.0"') as string,
    });
    const nowhere = await olmv1("upgrade", "story", "--version", "9.x", "--yes");
    expect(nowhere).toMatchObject({ code: 1, out: "" });
    expect(nowhere.err).toContain('no bundles found for package "hello-operator" matching version "9.x"');
    const upgraded = await olmv1("upgrade", "story", "--version", "1.1.0", ...WAITING);
    expect(upgraded).toMatchObject({ code: 0 });
    expect(upgraded.err).toContain("manage configmaps: hello-operator-languages");
    expect(upgraded.err).toContain("story: hello-operator.v1.1.0 (version 1.1.0) is installed and ready after");

    expect(await olmv1("catalog", "add", "broken", "localhost:1/no/such:v1")).toMatchObject({ code: 0 });
    const without = await olmv1("upgrade", "story", "--version", "1.2.0", ...WAITING);
    expect(without).toMatchObject({ code: 0, err: expect.stringContaining("olmv1: skipped catalog broken: ") as string });
    expect(await olmv1("upgrade", "story", ...WAITING)).toMatchObject({
      code: 0,
      out: expect.stringContaining("is the newest version that the extension can get") as string,
      err: expect.stringMatching(/^olmv1: skipped catalog broken: catalog "broken" is not being served/) as string,
    });
    expect(await olmv1("catalog", "remove", "broken")).toMatchObject({ code: 0 });
    const back = await olmv1("rollback", "story", "1");
    expect(back).toMatchObject({ code: 0 });
    // The permissions that only 1.0.0 needs were revoked when 1.2.0 was ready.
    expect(back.err).toContain("ServiceAccount story/story-installer gets these additional permissions");
    expect(back.out).toMatch(/^clusterrole\.rbac\.authorization\.k8s\.io\/story-\S+ configured$/m);
    expect(back.err).toContain("story: hello-operator.v1.0.0 (version 1.0.0) is installed and ready after");
    await sample.world.installed("story", "1.0.0");
    expect(await olmv1("tree", "stroy")).toMatchObject({
      code: 2,
      err: 'olmv1: ClusterExtension "stroy" not found; did you mean "story"?\n',
    });
    expect(await olmv1("catalog", "get", "stroy")).toMatchObject({
      code: 2,
      err: 'olmv1: ClusterCatalog "stroy" not found; did you mean "story"?\n',
    });
    expect((await olmv1("history", "story")).out).toMatch(/^1 \(pinned\) +superseded +1\.0\.0 /m);
    expect(await olmv1("upgrade", "story", "--yes")).toMatchObject({
      code: 2,
      err: expect.stringContaining("olmv1 rollback story --cancel") as string,
    });

    await greeting("story");
    const prompted = await olmv1("uninstall", "story");
    expect(prompted).toMatchObject({ code: 2, out: "" });
    expect(prompted.err).toContain("These CustomResourceDefinitions are kept, with their custom resources");
    expect(prompted.err).toContain("greetings.hello.example.com (1): story/world");
    const gone = await olmv1("uninstall", "story", ...WAITING);
    expect(gone).toMatchObject({ code: 0 });
    expect(gone.out).toContain("CustomResourceDefinition greetings.hello.example.com kept, with 1 custom resources\n");
    expect(await listCreated("story")).toEqual(["Namespace story"]);
    expect(await olmv1("list")).toMatchObject({ code: 0, out: "" });
    const registries = ["--registries-conf", join(sample.world.workDir, "registries.conf")];
    expect(await olmv1("catalog", "remove", "story", "--no-cache", ...registries)).toMatchObject({ code: 0 });
    // A rollback keeps the newer CRD, because the CRD of the older version would be rejected.
    for (const ref of [{ ...GREETING, namespace: "story", name: "world" }, DEFINITION]) await cluster.client.delete(ref);
    await eventually(async () => expect(await cluster.client.get(DEFINITION)).toBeUndefined());
    expect(await olmv1("describe", "story")).toMatchObject({
      code: 2,
      err: expect.stringContaining('ClusterExtension "story" not found') as string,
    });
  });

  test("olmv1 approve starts an install with manual approval, and olmv1 uninstall --crd-policy Delete deletes custom resources", async () => {
    const args = [
      "install",
      SAMPLE_PACKAGE,
      "--name",
      "asked",
      "-n",
      "asked",
      "--version",
      "1.0.0",
      "--create-service-account",
      ...WAITING,
    ];
    const waiting = await olmv1(...args, "--approval", "Manual");
    expect(waiting).toMatchObject({ code: 0 });
    expect(waiting.err).toContain("approve it: olmv1 approve asked");
    expect(await olmv1("approve", "asked")).toMatchObject({ code: 2 });
    expect(await olmv1("approve", "asked", "--digest", "sha256:other")).toMatchObject({ code: 2 });
    const approved = await olmv1("approve", "asked", ...WAITING);
    expect(approved).toMatchObject({
      code: 0,
      err: expect.stringContaining("asked: hello-operator.v1.0.0 (version 1.0.0) is installed and ready") as string,
    });
    expect(await olmv1("approve", "asked", ...WAITING)).toMatchObject({ code: 1 });
    const upgraded = await olmv1("upgrade", "asked", "--version", "1.1.0", ...WAITING);
    expect(upgraded).toMatchObject({ code: 0, err: expect.stringContaining("(version 1.1.0) is installed and ready") as string });

    await greeting("asked");
    const gone = await olmv1("uninstall", "asked", "--crd-policy", "Delete", "--delete-namespace", ...WAITING);
    expect(gone).toMatchObject({ code: 0 });
    expect(gone.err).toContain("These custom resources will be DELETED");
    expect(gone.err).toMatch(/greetings\.hello\.example\.com \(\d\): asked\/world/);
    expect(await cluster.client.get(DEFINITION)).toBeUndefined();
    await eventually(async () => expect(await listCreated("asked")).toEqual([]));
  });

  test("olmv1 explains why an installation fails, and does not change other objects", async () => {
    const namespace = await cluster.namespace("poor");
    await serviceAccount(cluster.client, namespace, "poor", []);
    const args = ["install", SAMPLE_PACKAGE, "-n", namespace, "--version", "1.0.0"];
    expect(await olmv1(...args, "--service-account", "nobody")).toMatchObject({
      code: 2,
      err: expect.stringContaining("does not exist: use --create-service-account, or create it with olmv1 rbac") as string,
    });
    const name = "poor";
    const misspelt = await olmv1("install", "helo-operator", "--create-service-account");
    expect(misspelt).toMatchObject({
      code: 1,
      err: expect.stringContaining("\ndid you mean hello-operator?\nno changes were made\n") as string,
    });
    const unfit = await olmv1("install", SAMPLE_PACKAGE, "-n", "Not_One", "--create-service-account", "--yes");
    expect(unfit).toMatchObject({ code: 2, err: expect.stringContaining("argument 'Not_One' is invalid") as string });
    expect(unfit.err).not.toContain("gets these permissions");
    const spec = "{.items[-1:].kind} {.items[-1:].spec.serviceAccount}";
    const alone = await olmv1(...args, "--name", "alone", "--yes", "--dry-run=client", "-o", `jsonpath=${spec}`);
    expect(alone).toMatchObject({
      out: "ClusterExtension ",
      err: expect.stringContaining("permission-manager grants the extension") as string,
    });
    const taken = await olmv1(...args, "--name", name, "--create-service-account", "--yes", "--dry-run=client");
    expect(taken).toMatchObject({ code: 0 });
    // A role of another owner with the name of one that olmv1 would create.
    const foreign = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: `${namespace}-half-installer` },
      rules: [],
    };
    await cluster.client.apply(foreign, { fieldManager: "somebody", force: true });
    const half = await olmv1(...args, "--name", "half", "--create-service-account", "--yes");
    expect(half).toMatchObject({ code: 2 });
    expect(half.err).toContain(`apply ClusterRole ${namespace}-half-installer: `);
    expect(half.err).toContain(
      `; already applied: serviceaccount/half-installer created in namespace ${namespace}; fix the problem and run the command again, or undo it`,
    );
    expect(await olmv1("uninstall", "half", "--yes")).toMatchObject({
      code: 0,
      out: `ServiceAccount ${namespace}/half-installer deleted\n`,
    });
    const long = await olmv1(...args, "--name", "x".repeat(60), "--create-service-account", "--yes");
    expect(long).toMatchObject({ code: 2, out: "", err: expect.stringContaining("must be no longer than 53 characters") as string });
    await eventually(async () => {
      const failed = await olmv1(...args, "--name", name, "--service-account", "poor", "--timeout", "2s");
      expect(failed).toMatchObject({
        code: 1,
        err: expect.stringContaining(`ServiceAccount ${namespace}/poor lacks permissions that the bundle needs`) as string,
      });
    });
    expect(await olmv1("install", SAMPLE_PACKAGE, "--create-service-account", "--yes")).toMatchObject({
      code: 2,
      err: expect.stringContaining('ClusterExtension "poor" already installs package') as string,
    });
    expect(await olmv1("install", "other", "--name", name, "--create-service-account")).toMatchObject({
      code: 2,
      err: expect.stringContaining("choose another name with --name") as string,
    });
    expect(await olmv1("uninstall", name, "--yes", "--delete-namespace")).toMatchObject({ code: 0 });
    expect(await cluster.client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name: "poor" })).toBeDefined();
    expect(await cluster.client.get({ apiVersion: API_VERSION, kind: "ClusterExtension", name })).toBeUndefined();
  });
});
