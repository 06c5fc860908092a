import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { bundleFiles as caseFiles } from "../cases/topics/render.ts";
import { bundleFiles } from "../support/bundleFixture.ts";
import { contentFrom } from "../support/catalogFixture.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { problemText } from "../support/problems.ts";
import { describeWithData } from "../support/sharedData.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const BUNDLE = tinyBundle("1.0.0", {
  modes: ["MultiNamespace"],
  permissions: [{ serviceAccountName: "tiny", rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }] }],
  others: ["web"],
});
const RBAC = "rbac.authorization.k8s.io/v1";

describeWithPrivateCluster("configuration of an operator", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 500 });
    world.bundle("p.v1.0.0", BUNDLE);
    await world.serve({ channels: { stable: [{ name: "p.v1.0.0" }] }, bundles: [{ name: "p.v1.0.0", version: "1.0.0" }] });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  const inline = (config: JsonObject): Pick<ClusterExtension["spec"], "config"> => ({ config: { configType: "Inline", inline: config } });
  const configure = (name: string, config: JsonObject): Promise<KubeObject> => {
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name };
    return cluster.client.patch(ref, [{ op: "replace", path: "/spec/config/inline", value: config }], { type: "json" });
  };
  const namespaces = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => cluster.namespace("watched")));
  /** Returns the namespaces with a Role and a RoleBinding of an operator, sorted. */
  const listRoles = async (name: string): Promise<string[]> => {
    const owned = { labelSelector: `olm.operatorframework.io/owner-name=${name}` };
    const found = await Promise.all(
      ["Role", "RoleBinding"].map(async (kind) => (await cluster.client.list({ apiVersion: RBAC, kind }, owned)).items),
    );
    const [roles = [], bindings = []] = found.map((items) => items.map(({ metadata }) => metadata.namespace ?? "").sort());
    expect(bindings).toEqual(roles);
    return roles;
  };
  const deployment = async (name: string, app: string): Promise<{ spec: { template: KubeObject } }> => {
    const ref: ObjectRef = { apiVersion: "apps/v1", kind: "Deployment", namespace: `${name}-system`, name: app };
    const found = await cluster.client.get(ref);
    if (!found) throw new Error(`there is no Deployment ${app} of ${name}`);
    return found as unknown as { spec: { template: KubeObject } };
  };
  const readTargets = async (name: string): Promise<string | undefined> =>
    (await deployment(name, "tiny")).spec.template.metadata.annotations?.["olm.targetNamespaces"];
  const readEnv = async (name: string, app: string): Promise<unknown> => {
    const { spec } = (await deployment(name, app)).spec.template as unknown as { spec: { containers: { env?: unknown }[] } };
    return spec.containers[0]?.env;
  };

  test("watchNamespaces creates, corrects and removes Roles in several namespaces with exactly the derived permissions", async () => {
    const name = cluster.name("several");
    const [a = "", b = "", c = ""] = (await namespaces(3)).sort();
    const objectsFor = (installNamespace: string, watchNamespaces: string[]): KubeObject[] =>
      renderBundle(loadBundle(bundleFiles(BUNDLE)), { installNamespace, config: { watchNamespaces } });
    const computeRules = (ns: string) => computeRequiredRules(objectsFor(ns, [a, b, c]), { installNamespace: ns });
    await world.extension(name, { computeRules, ...inline({ watchNamespaces: [b, a] }) });
    await world.conditions(name, { Ready: "True/Succeeded" });
    expect(await listRoles(name)).toEqual([a, b]);
    expect(await readTargets(name)).toBe(`${a},${b}`);

    const roleIn = async (namespace: string): Promise<KubeObject | undefined> => {
      const owned = { namespace, labelSelector: `olm.operatorframework.io/owner-name=${name}` };
      return (await cluster.client.list({ apiVersion: RBAC, kind: "Role" }, owned)).items[0];
    };
    const role = await roleIn(b);
    await cluster.client.delete({ apiVersion: RBAC, kind: "Role", namespace: b, name: role?.metadata.name ?? "" });
    await eventually(async () => {
      const now = await roleIn(b);
      expect(now?.metadata.uid).toBeDefined();
      expect(now?.metadata.uid).not.toBe(role?.metadata.uid);
    });

    await configure(name, { watchNamespaces: [c, a] });
    await eventually(async () => expect(await readTargets(name)).toBe(`${a},${c}`));
    await eventually(async () => expect(await listRoles(name)).toEqual([a, c]));
    await world.conditions(name, { Ready: "True/Succeeded" });
    await eventually(async () => {
      const pruned = (await world.events(name)).filter((event) => event.startsWith("Pruned: "));
      expect(pruned.join("\n")).toContain(`Role ${b}/`);
      expect(pruned.join("\n")).toContain(`RoleBinding ${b}/`);
    });
    await configure(name, { watchNamespaces: [a, c] });
    await world.until(name, ({ metadata, status }) => expect(status?.conditions?.[0]?.observedGeneration).toBe(metadata.generation));
    expect((await world.releases(name)).at(-1)).toBe("v2 deployed");
    await world.remove(name);
    expect(await listRoles(name)).toEqual([]);
  });

  describeWithData("a real bundle that does not support AllNamespaces", (folder) => {
    test.for(["awss3-operator-registry/1.0.1"])(
      "%s is installed with exactly the derived permissions when it watches two namespaces",
      async (id) => {
        const name = cluster.name("real");
        const watchNamespaces = (await namespaces(2)).sort();
        const files = caseFiles(join(folder, "bundles", id));
        const image = "real.v1.0.0";
        world.bundle(image, Object.fromEntries(files));
        await world.servePackage(
          contentFrom({ channels: { stable: [{ name: image }] }, bundles: [{ name: image, version: "1.0.0" }] }, "real"),
          "real",
        );
        const computeRules = (installNamespace: string) =>
          computeRequiredRules(renderBundle(loadBundle(files), { installNamespace, config: { watchNamespaces } }), { installNamespace });
        await world.extension(name, { computeRules, catalog: { packageName: "real" }, ...inline({ watchNamespaces }) });
        await world.conditions(name, { Ready: "True/Succeeded" });
        expect(await listRoles(name)).toEqual(watchNamespaces);
      },
    );
  });

  test("a missing watched namespace is reported with its field before any write, and the install resumes when the namespace exists", async () => {
    const name = cluster.name("missing");
    const [there = ""] = await namespaces(1);
    const missing = cluster.name("later");
    await world.extension(name, inline({ watchNamespaces: [there, missing] }));
    await world.expectProblem(name, "NamespaceNotFound", {
      message: `namespace "${missing}" does not exist, so 2 objects cannot be created`,
      next: "create the namespace, or remove it from spec.config.inline.watchNamespaces",
      details: [missing],
    });
    expect(await listRoles(name)).toEqual([]);
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: missing } });
    await world.conditions(name, { Ready: "True/Succeeded" });
    expect(await listRoles(name)).toEqual([there, missing].sort());
  });

  test("a deleted watched namespace is reported until watchNamespaces no longer contains the namespace", async () => {
    const name = cluster.name("deleted");
    const [a = "", b = "", c = ""] = (await namespaces(3)).sort();
    await world.extension(name, inline({ watchNamespaces: [a, b, c] }));
    await world.conditions(name, { Ready: "True/Succeeded" });
    await cluster.client.delete({ apiVersion: "v1", kind: "Namespace", name: b });
    await world.until(name, ({ status }) => {
      expect(problemText(status)).toContain(
        `namespaces "${b}" not found; next: create the namespace, or remove it from the extension's configuration`,
      );
    });
    await configure(name, { watchNamespaces: [a, c] });
    await eventually(async () => {
      const { Progressing } = await world.conditions(name, { Ready: "True/Succeeded", Progressing: "True/Succeeded" });
      expect(Progressing).toBe("Desired state reached");
      expect(await readTargets(name)).toBe(`${a},${c}`);
    });
    expect(await listRoles(name)).toEqual([a, c]);
  });

  test("spec.install.imagePullSecrets are added to the operator's Pods in a new release, and removed with the field", async () => {
    const name = cluster.name("private");
    await world.extension(name, inline({ watchNamespaces: await namespaces(2) }));
    await world.conditions(name, { Ready: "True/Succeeded" });
    const readSecrets = async (): Promise<unknown> =>
      ((await deployment(name, "tiny")).spec.template["spec"] as JsonObject)["imagePullSecrets"];
    const setSecrets = (imagePullSecrets: { name: string }[] | null): Promise<KubeObject> =>
      cluster.client.patch(
        { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name },
        { spec: { install: imagePullSecrets && { imagePullSecrets } } },
        { type: "merge" },
      );
    expect(await readSecrets()).toBeUndefined();
    await setSecrets([{ name: "mirror" }]);
    await eventually(async () => expect(await readSecrets()).toEqual([{ name: "mirror" }]));
    await world.conditions(name, { Ready: "True/Succeeded" });
    await setSecrets(null);
    await eventually(async () => expect(await readSecrets()).toBeUndefined());
    await eventually(async () => expect((await world.releases(name)).at(-1)).toBe("v3 deployed"));
    await world.remove(name);
  });

  // Source: S0-090, H-17.
  test("a user's ConfigMap with certificate authorities is mounted into the selected Deployment, and the user still owns the ConfigMap", async () => {
    const name = cluster.name("trusting");
    const watchNamespaces = await namespaces(2);
    const labels = { "config.openshift.io/inject-trusted-cabundle": "true" };
    const trusted: ObjectRef = { apiVersion: "v1", kind: "ConfigMap", name: "trusted-ca", namespace: `${name}-system` };
    const before = (namespace: string): Promise<KubeObject> =>
      cluster.client.create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "trusted-ca", namespace, labels },
        data: { "ca-bundle.crt": "injected" },
      });
    const configMap = { name: "trusted-ca", items: [{ key: "ca-bundle.crt", path: "tls-ca-bundle.pem" }] };
    const mount = { name: "trusted-ca", mountPath: "/etc/pki/ca-trust/extracted/pem", readOnly: true };
    const deploymentConfig = {
      selector: { matchLabels: { app: "web" } },
      volumes: [{ name: "trusted-ca", configMap }],
      volumeMounts: [mount],
    };
    await world.extension(name, { before, ...inline({ watchNamespaces, deploymentConfig }) });
    await world.conditions(name, { Ready: "True/Succeeded" });
    const readPodSpec = async (app: string): Promise<JsonObject> => (await deployment(name, app)).spec.template["spec"] as JsonObject;
    expect(await readPodSpec("web")).toMatchObject({
      volumes: [{ name: "trusted-ca", configMap }],
      containers: [{ volumeMounts: [mount] }],
    });
    expect(await readPodSpec("tiny")).not.toHaveProperty("volumes");
    const kept = await cluster.client.get(trusted);
    expect([kept?.["data"], kept?.metadata.labels, kept?.metadata.ownerReferences]).toEqual([
      { "ca-bundle.crt": "injected" },
      labels,
      undefined,
    ]);
    await world.remove(name);
    expect(await cluster.client.get(trusted)).toBeDefined();
  });

  test("an install is rejected when the bundle does not support the watched namespaces, and succeeds after an edit", async () => {
    const name = cluster.name("modes");
    const [a = "", b = ""] = await namespaces(2);
    await world.extension(name, inline({ watchNamespace: a }));
    await world.conditions(name, { Progressing: "False/InvalidConfiguration" });
    const message = 'required field "watchNamespaces" is missing';
    await world.expectProblem(name, "InvalidConfiguration", {
      message,
      details: expect.arrayContaining([{ path: "watchNamespaces", message: "required field is missing" }]),
    });
    await configure(name, { watchNamespaces: [a, b] });
    await world.conditions(name, { Ready: "True/Succeeded" });
  });

  test.for<[what: string, config: JsonObject, text: string]>([
    [
      "contains too many values",
      { deploymentConfig: { env: Array.from({ length: 100_000 }, () => ({})) } },
      'it has more than 10000 values: field "deploymentConfig.env" has 100000 items',
    ],
    [
      "is too long",
      { deploymentConfig: { annotations: { a: "x".repeat(1_000_000) } } },
      'it is larger than 262144 bytes as JSON: field "deploymentConfig.annotations.a" has 1000000 bytes',
    ],
    ["has thousands of faults", { deploymentConfig: { env: Array.from({ length: 5_000 }, () => ({})) } }, "multiple errors found:"],
  ])("a configuration that %s is rejected with a short message, and accepted after an edit", async ([, config, text]) => {
    const name = cluster.name("large");
    const watchNamespaces = await namespaces(2);
    await world.extension(name, inline({ watchNamespaces, ...config }));
    const { Progressing = "" } = await world.conditions(name, { Progressing: "False/InvalidConfiguration" });
    expect(Progressing).toContain(`invalid ClusterExtension configuration: invalid configuration: ${text}`);
    expect(Buffer.byteLength(Progressing)).toBeLessThanOrEqual(32_768);
    await configure(name, { watchNamespaces });
    await world.conditions(name, { Ready: "True/Succeeded" });
  });

  test("deploymentConfig changes the Deployments that its selector matches, and a selector without matches is reported", async () => {
    const name = cluster.name("chosen");
    const watchNamespaces = await namespaces(2);
    const buildConfig = (app: string): JsonObject => ({
      watchNamespaces,
      deploymentConfig: { selector: { matchLabels: { app } }, env: [{ name: "LEVEL", value: "debug" }] },
    });
    await world.extension(name, inline(buildConfig("web")));
    const { Progressing } = await world.conditions(name, { Ready: "True/Succeeded", Progressing: "True/Succeeded" });
    expect(Progressing).toBe("Desired state reached");
    expect(await readEnv(name, "web")).toEqual([{ name: "LEVEL", value: "debug" }]);
    expect(await readEnv(name, "tiny")).toBeUndefined();
    await configure(name, buildConfig("nobody"));
    await world.expectProblem(name, "ConfigurationWarning", {
      message:
        "deploymentConfig.selector in the configuration has no effect: it matches no Deployment in the bundle; " +
        "existing: tiny (app=tiny), web (app=web)",
    });
    await world.conditions(name, { Ready: "True/Succeeded", Progressing: "True/Succeeded" });
    expect(await readEnv(name, "web")).toBeUndefined();
  });

  // Source: I-04; a JSON object can contain a name twice, and decoders interpret that differently.
  test("a duplicate name in the configuration is rejected with strict validation, otherwise the API server keeps the last", async () => {
    const { kubectl } = await findBinaries(() => undefined);
    if (!kubectl) throw new Error("there is no kubectl among the control plane's programs");
    using folder = new TempFolder();
    const post = async (name: string, validation: string): Promise<string> => {
      const manifest = createExtension(name, { packageName: "p" });
      const spec = { ...manifest.spec, suspend: true, config: { configType: "Inline", inline: { watchNamespace: "a" } } };
      const text = JSON.stringify({ ...manifest, spec }).replace('"watchNamespace":"a"', '"watchNamespace":"a","watchNamespace":"b"');
      const path = join(folder.write(name, { "x.json": text }), "x.json");
      const url = `/apis/olm.operatorframework.io/v1/clusterextensions?fieldValidation=${validation}`;
      const args = ["create", "--kubeconfig", cluster.kubeconfig, "--raw", url, "-f", path];
      return promisify(execFile)(kubectl.path, args).then(
        ({ stdout }) => stdout,
        (err: { stderr: string }) => err.stderr,
      );
    };
    expect(await post(cluster.name("strict"), "Strict")).toContain('duplicate field "spec.config.inline.watchNamespace"');
    const name = cluster.name("last");
    await post(name, "Ignore");
    expect((await world.get(name)).spec.config?.inline).toEqual({ watchNamespace: "b" });
  });
});
