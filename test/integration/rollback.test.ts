import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { olmv1, olmv1Prints } from "../support/runCli.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const READY = { Installed: "True/Succeeded", Progressing: "True/Succeeded", Available: "True/Healthy", Ready: "True/Succeeded" };

const secret = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  data: { value: Buffer.from(value).toString("base64") },
});

const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: "tiny" }, ports: [{ port: 80 }] },
});

/** Creates a definition of the group of an extension, with one more property in each version. */
const definition = (group: string, properties: readonly string[]): KubeObject =>
  thingDefinition(group, { properties: Object.fromEntries(properties.map((name) => [name, { type: "string" }])) });

// Source: O-04.
describeWithPrivateCluster("rollbacks to the previous release", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { minuteMs: 200, driftIntervalMs: 1_000 });
  });

  afterEach(async () => {
    for (const name of ["late", "refused", "manual", "first", "stuck"]) await world.remove(name);
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Serves the versions of a new package, each replacing the one before. */
  const serve = (...versions: string[]): Promise<void> => {
    const entries = versions.map((version, i) =>
      i === 0 ? `p.v${version}` : { name: `p.v${version}`, replaces: `p.v${versions[i - 1]}` },
    );
    return world.serve({ channels: { stable: entries }, bundles: versions.map((version) => `p.v${version}`) });
  };
  const readImage = async (namespace: string): Promise<string | undefined> => {
    const live = await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: "tiny" });
    const spec = live?.["spec"] as { template: { spec: { containers: { image: string }[] } } } | undefined;
    return spec?.template.spec.containers[0]?.image;
  };
  const readValue = async (namespace: string, name: string): Promise<string | undefined> => {
    const live = await cluster.client.get({ apiVersion: "v1", kind: "Secret", namespace, name });
    const value = (live?.["data"] as Record<string, string> | undefined)?.["value"];
    return value === undefined ? undefined : Buffer.from(value, "base64").toString();
  };
  const listProperties = async (group: string): Promise<string[]> => {
    const live = await cluster.client.get({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: `things.${group}`,
    });
    const { versions } = live!["spec"] as { versions: { schema: { openAPIV3Schema: { properties: object } } }[] };
    return Object.keys(versions[0]!.schema.openAPIV3Schema.properties).sort();
  };
  const edit = (x: ClusterExtension, patch: object): Promise<KubeObject> => cluster.client.patch(toObjectRef(x), patch, { type: "merge" });
  const getInstalledVersion = async (name: string): Promise<string | undefined> => (await world.get(name)).status?.install?.bundle.version;

  test("an upgrade that exceeds its deadline is rolled back if spec requests it, and retried when the catalog changes", async () => {
    const group = "late.example.com";
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [secret("kept", "1"), definition(group, ["a"])] }));
    world.bundle(
      "p.v2.0.0",
      tinyBundle("2.0.0", { podOutcome: "NotReady", objects: [secret("kept", "2"), secret("new", "2"), definition(group, ["a", "b"])] }),
    );
    world.bundle("p.v2.0.1", tinyBundle("2.0.1", { objects: [definition(group, ["a", "b"])] }));
    await serve("1.0.0");
    const x = await world.extension("late", { progressDeadlineMinutes: 10, install: { onFailure: "Rollback" } });
    await world.conditions("late", READY);
    await serve("1.0.0", "2.0.0");
    const { Progressing } = await world.conditions("late", {
      Installed: "True/Succeeded",
      Progressing: "False/ProgressDeadlineExceeded",
      Available: "True/Healthy",
      Ready: "False/ProgressDeadlineExceeded",
    });
    expect(Progressing).toMatch(
      /^Revision has not rolled out for 10 minute\(s\)\. Last status: Revision 2\.0\.0 is rolling out\.; Deployment late-system\/tiny: .*; rolled back to bundle "p\.v1\.0\.0"; the controller retries bundle "p\.v2\.0\.0" after 20\S+Z, or as soon as the spec, bundle or catalog changes$/,
    );
    expect(await getInstalledVersion("late")).toBe("1.0.0");
    expect(await world.releases("late")).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
    expect(await readImage("late-system")).toBe("registry.example.com/tiny:1.0.0");
    expect([await readValue("late-system", "kept"), await readValue("late-system", "new")]).toEqual(["1", undefined]);
    expect(await listProperties(group)).toEqual(["a", "b"]);
    await eventually(async () =>
      expect((await world.events("late")).join("\n")).toMatch(/RolledBack: rolled back to bundle "p\.v1\.0\.0" from "p\.v2\.0\.0"/),
    );
    await cluster.client.delete({ apiVersion: "v1", kind: "Secret", namespace: "late-system", name: "kept" });
    await edit(x, { metadata: { labels: { pass: "again" } } });
    await eventually(async () => expect(await readValue("late-system", "kept")).toBe("1"));
    expect(await world.releases("late")).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
    await serve("1.0.0", "2.0.0", "2.0.1");
    await eventually(async () => expect(await getInstalledVersion("late")).toBe("2.0.0"));
    expect((await world.releases("late")).slice(2)).toEqual(["v3 superseded", "v4 deployed"]);
  });

  test("an upgrade whose object is rejected during the apply is undone, and not retried until the extension is edited", async () => {
    const group = "refused.example.com";
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [secret("kept", "1"), definition(group, ["a"])] }));
    world.bundle(
      "p.v2.0.0",
      tinyBundle("2.0.0", { objects: [secret("kept", "2"), secret("new", "2"), definition(group, ["a", "b"]), service("refused")] }),
    );
    await serve("1.0.0");
    const x = await world.extension("refused");
    await world.conditions("refused", READY);
    const lift = await refuseServices("refused-system");
    await serve("1.0.0", "2.0.0");
    const { Progressing } = await world.conditions("refused", {
      Installed: "True/Succeeded",
      Progressing: "True/Retrying",
      Available: "True/Healthy",
      Ready: "False/Retrying",
    });
    expect(Progressing).toMatch(
      /^error for resolved bundle "p\.v2\.0\.0" with version "2\.0\.0": Service refused-system\/refused: .*not today; bundle "p\.v1\.0\.0" was restored; the controller retries bundle "p\.v2\.0\.0" after 20\S+Z, or as soon as the spec, bundle or catalog changes$/,
    );
    await world.expectProblem("refused", "RolledBack", { message: 'bundle "p.v1.0.0" was restored' });
    expect(await getInstalledVersion("refused")).toBe("1.0.0");
    expect(await world.releases("refused")).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
    expect([await readValue("refused-system", "kept"), await readValue("refused-system", "new")]).toEqual(["1", undefined]);
    expect(await listProperties(group)).toEqual(["a", "b"]);
    expect(await readImage("refused-system")).toBe("registry.example.com/tiny:1.0.0");
    await lift();
    await edit(x, { metadata: { labels: { pass: "again" } } });
    await cluster.client.delete({ apiVersion: "v1", kind: "Secret", namespace: "refused-system", name: "kept" });
    await eventually(async () => expect(await readValue("refused-system", "kept")).toBe("1"));
    expect(await getInstalledVersion("refused")).toBe("1.0.0");
    await edit(x, { spec: { progressDeadlineMinutes: 720 } });
    await world.conditions("refused", READY);
    expect([await getInstalledVersion("refused"), await readValue("refused-system", "new")]).toEqual(["2.0.0", "2"]);
    expect(await world.releases("refused")).toEqual(["v1 superseded", "v2 failed", "v3 superseded", "v4 deployed"]);
  });

  // Source: D-11.
  test("olmv1 rollback installs an earlier release, and the controller ignores the catalog until olmv1 rollback --cancel", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [secret("kept", "1")] }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: [secret("kept", "2"), secret("new", "2")] }));
    await serve("1.0.0");
    await world.extension("manual");
    await world.conditions("manual", READY);
    await expect(rollback("manual")).rejects.toThrow("no earlier revision is available for a rollback");
    await serve("1.0.0", "2.0.0");
    await eventually(async () => expect(await getInstalledVersion("manual")).toBe("2.0.0"));
    await expect(rollback("manual", "7")).rejects.toThrow("revision 7 is not in the release history: available for a rollback: 2, 1");
    const back = await olmv1("rollback", "manual", "--kubeconfig", cluster.kubeconfig);
    expect(back).toMatchObject({ code: 0 });
    expect(back.out).toBe(
      'ClusterExtension "manual" is being rolled back to revision 1 (bundle "p.v1.0.0") and pinned to it\nremove the pin: olmv1 rollback manual --cancel\n',
    );
    expect(back.err).toMatch(/bundle p\.v1\.0\.0 is installed \(\d+ s\)\n/);
    expect(back.err).toMatch(/\nmanual: p\.v1\.0\.0 \(version 1\.0\.0\) is installed and ready after \d+ s\n$/);
    expect(await getInstalledVersion("manual")).toBe("1.0.0");
    await world.conditions("manual", READY);
    await world.expectProblem("manual", "RevisionPinned", {
      message: 'annotation olm.operatorframework.io/rollback-to pins bundle "p.v1.0.0" of revision 1; ',
    });
    expect([await readValue("manual-system", "kept"), await readValue("manual-system", "new")]).toEqual(["1", undefined]);
    await serve("1.0.0", "2.0.0", "2.0.1");
    await cluster.client.delete({ apiVersion: "v1", kind: "Secret", namespace: "manual-system", name: "kept" });
    await eventually(async () => expect(await readValue("manual-system", "kept")).toBe("1"));
    expect(await world.releases("manual")).toEqual(["v1 superseded", "v2 superseded", "v3 deployed"]);
    await cluster.client.patch(
      toObjectRef(await world.get("manual")),
      { metadata: { annotations: { "olm.operatorframework.io/rollback-to": "x" } } },
      { type: "merge" },
    );
    const blocked = await world.conditions("manual", { Progressing: "False/Blocked" });
    expect(blocked["Progressing"]).toBe(
      'annotation olm.operatorframework.io/rollback-to: "x" is not a revision: specify a positive integer',
    );
    await world.expectProblem("manual", "InvalidSpec", { message: '"x" is not a revision' });
    expect(await rollback("manual", "--cancel")).toBe('ClusterExtension "manual" follows its catalogs again\n');
    expect(await getInstalledVersion("manual")).toMatch(/^2\.0\.[01]$/);
  });

  test("olmv1 rollback --wait exits with 1 when the rollback fails, and does not undo it on Ctrl-C", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { podOutcome: "NotReady" }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0"));
    await serve("1.0.0");
    await world.extension("stuck");
    await eventually(async () => expect(await getInstalledVersion("stuck")).toBe("1.0.0"));
    await serve("1.0.0", "2.0.0");
    await world.conditions("stuck", READY);
    const late = await olmv1("rollback", "stuck", "--timeout", "10s", "--kubeconfig", cluster.kubeconfig);
    expect(late).toMatchObject({ code: 1, out: expect.stringContaining("is being rolled back to revision 1") as string });
    expect(late.err).toMatch(/\nstuck is not ready after \d+ s\n {2}Available is False, RollingOut: /);
    expect(await rollback("stuck", "--cancel", "--no-wait")).toBe(
      'ClusterExtension "stuck" follows its catalogs again\nfollow the rollback: olmv1 describe stuck\n',
    );
    await world.conditions("stuck", READY);
    const stop = new AbortController();
    const terminal = { out: "", err: "" };
    const stopped = await runCommandLine(
      ["rollback", "stuck", "1", "--kubeconfig", cluster.kubeconfig],
      new CommandTerminal({
        out: (text) => {
          terminal.out += text;
          stop.abort(new Error("stopped by SIGINT"));
        },
        err: (text) => void (terminal.err += text),
        signal: stop.signal,
      }),
    );
    expect({ code: stopped, err: terminal.err }).toEqual({
      code: 130,
      err: "stopped waiting; the controller continues: olmv1 describe stuck\n",
    });
    await eventually(async () => expect(await getInstalledVersion("stuck")).toBe("1.0.0"));
  });

  /** Runs `olmv1 rollback`. @returns its output. @throws Error with its standard error. */
  function rollback(...args: string[]): Promise<string> {
    return olmv1Prints("rollback", "--kubeconfig", cluster.kubeconfig, ...args);
  }

  test("olmv1 rollback fails without an earlier release", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { podOutcome: "NotReady" }));
    await serve("1.0.0");
    await world.extension("first", { progressDeadlineMinutes: 10, install: { onFailure: "Rollback" } });
    const { Progressing } = await world.conditions("first", { Installed: "True/Succeeded", Progressing: "False/ProgressDeadlineExceeded" });
    expect(Progressing).toMatch(/there is no earlier release to roll back to$/);
    expect(await world.releases("first")).toEqual(["v1 deployed"]);
  });

  /** Makes dry runs of Services in a namespace succeed and writes fail. @returns a function that ends this. */
  async function refuseServices(ns: string): Promise<() => Promise<unknown>> {
    const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: { name: ns } };
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["services"] };
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } };
    const validations = [{ expression: "has(request.dryRun) && request.dryRun", message: "not today" }];
    await cluster.client.create({ ...policy, spec: { matchConstraints: { resourceRules: [rule], namespaceSelector }, validations } });
    const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };
    await cluster.client.create({ ...binding, spec: { policyName: ns, validationActions: ["Deny"] } });
    const probe = (): KubeObject => ({ ...service(cluster.name("probe")), metadata: { name: cluster.name("probe"), namespace: ns } });
    await eventually(async () => {
      expect(String(await cluster.client.create(probe()).catch((err: unknown) => err))).toContain("not today");
    });
    return async () => {
      await cluster.client.delete(toObjectRef(binding));
      await cluster.client.delete(toObjectRef(policy));
      await eventually(() => cluster.client.create(probe()));
    };
  }
});
