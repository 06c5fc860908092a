import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { type ExtensionParts, OperatorWorld } from "../support/operatorWorld.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
/** A marker in every source value that must not be shown. */
const CANARY = "canary";
const HIDDEN = "(from spec.config.valuesFrom)";
/** The controller's own account, to distinguish its requests from those of the test. */
const CONTROLLER = { namespace: "default", name: "values-controller" };

type Values = NonNullable<NonNullable<ClusterExtensionSpec["config"]>["valuesFrom"]>;

const env = (...values: string[]): string =>
  JSON.stringify({ deploymentConfig: { env: values.map((value, i) => ({ name: `V${i}`, value })) } });
const kept: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept" }, data: { a: "1" } };

// Source: O-05 and O-16 (spec.config.valuesFrom[]), D-33.
describeWithPrivateCluster("configuration that is kept in ConfigMaps and Secrets", (cluster) => {
  let world: OperatorWorld;
  const lines: string[] = [];

  async function start(driftIntervalMs: number): Promise<void> {
    const { client } = await serviceAccount(cluster.client, CONTROLLER.namespace, CONTROLLER.name, [EVERYTHING]);
    world = await OperatorWorld.start(cluster, { lines, recheckIntervalMs: 2_000, driftIntervalMs }, client);
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [kept] }));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
  }

  beforeAll(() => start(600_000));
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const secret = (namespace: string, name: string, text: string | undefined): Promise<KubeObject> =>
    cluster.client.apply(
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, namespace },
        ...(text === undefined ? {} : { stringData: { "values.yaml": text } }),
      },
      { fieldManager: "test", force: true },
    );
  const extension = (
    name: string,
    valuesFrom: Values,
    parts: Partial<ClusterExtensionSpec> & ExtensionParts = {},
  ): Promise<ClusterExtension> => world.extension(name, { config: { configType: "Inline", valuesFrom }, ...parts });
  const readEnv = async (x: ClusterExtension): Promise<(string | undefined)[]> => {
    const ref = { apiVersion: "apps/v1", kind: "Deployment", namespace: getNamespace(x), name: "tiny" };
    const deployment = await cluster.client.get(ref);
    const { spec } = deployment as unknown as { spec: { template: { spec: { containers: { env?: { value?: string }[] }[] } } } };
    return (spec.template.spec.containers[0]?.env ?? []).map(({ value }) => value);
  };
  const toRef = (name: string): ObjectRef => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const patch = (name: string, body: unknown): Promise<KubeObject> => cluster.client.patch(toRef(name), body, { type: "merge" });

  /** Returns all visible text about an extension: its status, Events, log lines, and its resolution record. */
  async function readAllTexts(name: string): Promise<string> {
    const { status } = await world.get(name);
    const record = await world.controller.resolutionOf(name, AbortSignal.timeout(10_000));
    const ofIt = lines.filter((line) => line.includes(`"${name}"`));
    expect(ofIt.length).toBeGreaterThan(0);
    return [JSON.stringify(status), ...(await world.events(name)), ...ofIt, JSON.stringify(record)].join("\n");
  }
  async function expectHidden(name: string): Promise<void> {
    const events = await world.events(name);
    expect(events.length).toBeGreaterThan(0);
    expect(await readAllTexts(name)).not.toContain(CANARY);
  }

  test("valuesFrom merges sources in order and then spec.config.inline, and a changed source results in a new release", async () => {
    const x = await extension(
      "merged",
      [
        { kind: "ConfigMap", name: "first" },
        { kind: "Secret", name: "second" },
      ],
      {
        config: {
          configType: "Inline",
          inline: { deploymentConfig: { nodeSelector: { zone: "inline" } } },
          valuesFrom: [
            { kind: "ConfigMap", name: "first" },
            { kind: "Secret", name: "second" },
            { kind: "Secret", name: "nowhere", optional: true },
          ],
        },
        before: async (namespace) => {
          const text = JSON.stringify({
            deploymentConfig: { env: [{ name: "A", value: "overridden" }], nodeSelector: { zone: "a", disk: "ssd" } },
          });
          await cluster.client.create({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: "first", namespace },
            data: { "values.yaml": text },
          });
          await secret(namespace, "second", env("canary-one"));
        },
      },
    );
    await world.conditions("merged", { ...DONE, Available: "True/Healthy" });
    expect(await readEnv(x)).toEqual(["canary-one"]);
    const ref = { apiVersion: "apps/v1", kind: "Deployment", namespace: getNamespace(x), name: "tiny" };
    expect(await cluster.client.get(ref)).toMatchObject({
      spec: { template: { spec: { nodeSelector: { zone: "inline", disk: "ssd" } } } },
    });
    expect(await world.releases("merged")).toEqual(["v1 deployed"]);

    await secret(getNamespace(x), "second", env("canary-two"));
    await eventually(async () => expect(await readEnv(x)).toEqual(["canary-two"]));
    await world.conditions("merged", DONE);
    await eventually(async () => expect(await world.releases("merged")).toEqual(["v1 superseded", "v2 deployed"]));
    // an optional source is used when it exists
    await secret(getNamespace(x), "nowhere", env("canary-two", "canary-three"));
    await eventually(async () => expect(await readEnv(x)).toEqual(["canary-two", "canary-three"]));
    await expectHidden("merged");
    await world.remove("merged");
  });

  test("valuesFrom waits for a missing object or key, and resumes automatically", async () => {
    const x = await extension("missing", [{ kind: "Secret", name: "late", key: "prod.yaml" }]);
    const namespace = getNamespace(x);
    await world.conditions("missing", { Installed: "False/Failed", Progressing: "True/Retrying" });
    const message = `spec.config.valuesFrom[0]: Secret ${namespace}/late does not exist: create it, or set optional: true`;
    await world.expectProblem("missing", "ConfigurationSourceNotFound", { message, details: [{ path: "valuesFrom", message }] });
    await secret(namespace, "late", env("canary-key"));
    await world.until("missing", ({ status }) => expect(JSON.stringify(status)).toContain(`Secret ${namespace}/late has no key`));
    await cluster.client.patch(
      { apiVersion: "v1", kind: "Secret", name: "late", namespace },
      { stringData: { "prod.yaml": env("canary-late") } },
      { type: "merge" },
    );
    await world.conditions("missing", DONE);
    expect(await readEnv(x)).toEqual(["canary-late"]);
    await expectHidden("missing");
  });

  test("valuesFrom keeps the installed bundle while a source cannot be read, and the extension can be uninstalled", async () => {
    const x = await extension("kept", [{ kind: "Secret", name: "values" }], { before: (ns) => secret(ns, "values", env("canary-kept")) });
    const namespace = getNamespace(x);
    await world.conditions("kept", DONE);
    await cluster.client.delete({ apiVersion: "v1", kind: "Secret", name: "values", namespace });
    await world.conditions("kept", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    const ref = { apiVersion: "v1", kind: "ConfigMap", name: "kept", namespace };
    await cluster.client.delete(ref);
    await eventually(async () => expect(await cluster.client.get(ref)).toBeDefined());
    expect(await readEnv(x)).toEqual(["canary-kept"]);
    expect(await world.releases("kept")).toEqual(["v1 deployed"]);
    await expectHidden("kept");
    await world.remove("kept");
    expect(await cluster.client.get(ref)).toBeUndefined();
  });

  test.for<[what: string, text: string, says: string]>([
    ["broken", "a: [canary-1, *canary-2", "is not a single YAML or JSON document (line 1, column"],
    ["no-object", "- canary-1", "contains a list instead of an object"],
    ["unknown", "watchNamespace: canary-1", 'unknown field "watchNamespace"'],
    ["mistyped", "deploymentConfig: {env: canary-1, nodeSelector: {a: canary-2}}", "got string, want array"],
  ])("valuesFrom rejects a source with reason InvalidConfiguration until the source changes: %s", async ([name, text, says]) => {
    const x = await extension(name, [{ kind: "Secret", name: "values" }], { before: (ns) => secret(ns, "values", text) });
    const { problems } = await world.conditions(name, { Progressing: "False/InvalidConfiguration" });
    expect(problems).toContain(says);
    await eventually(async () => expect((await world.events(name)).join()).toContain("InvalidConfiguration"));
    await secret(getNamespace(x), "values", env("canary-right"));
    await world.conditions(name, DONE);
    expect(await readEnv(x)).toEqual(["canary-right"]);
    await expectHidden(name);
  });

  test("valuesFrom does not reveal values when an error of the API server quotes them, even in a rollback", async () => {
    const formatRejection = (effect: string): string =>
      JSON.stringify({ deploymentConfig: { tolerations: [{ key: "canary-key", operator: "Exists", effect }] } });
    const x = await extension("quoted", [{ kind: "Secret", name: "values" }], {
      before: (ns) => secret(ns, "values", formatRejection("CanaryNo")),
    });
    const { Progressing } = await world.conditions("quoted", { Installed: "False/Failed", Progressing: "True/Retrying" });
    expect(Progressing).toContain(`effect: Unsupported value: "${HIDDEN}"`);
    await secret(getNamespace(x), "values", formatRejection("NoSchedule"));
    await world.conditions("quoted", DONE);
    await secret(getNamespace(x), "values", formatRejection("CanaryAgain"));
    await world.conditions("quoted", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    expect((await readAllTexts("quoted")).toLowerCase()).not.toContain(CANARY);
  });

  test("valuesFrom does not reveal values in reports of drift", async () => {
    const x = await extension("drifting", [{ kind: "Secret", name: "values" }], {
      drift: { policy: "Warn" },
      before: (ns) => secret(ns, "values", JSON.stringify({ deploymentConfig: { env: [{ name: "CANARY_NAME", value: "canary-drift" }] } })),
    });
    await world.conditions("drifting", DONE);
    const ref = { apiVersion: "apps/v1", kind: "Deployment", namespace: getNamespace(x), name: "tiny" };
    const containers = [{ name: "manager", env: [{ name: "CANARY_NAME", value: "changed" }] }];
    await cluster.client.patch(ref, { spec: { template: { spec: { containers } } } }, { type: "strategic" });
    await eventually(async () => expect((await world.events("drifting")).join()).toContain("Drifted"));
    await world.expectProblem("drifting", "DriftDetected", { message: "drift is not corrected" });
    expect(await readAllTexts("drifting")).toContain(`env[name=${HIDDEN}]`);
    expect((await readAllTexts("drifting")).toLowerCase()).not.toContain(CANARY);
  });

  test("valuesFrom does not reveal values, old or new, in the plan that waits for an approval", async () => {
    const buildNamed = (name: string): string => JSON.stringify({ deploymentConfig: { env: [{ name, value: `canary-${name}` }] } });
    const x = await extension("planned", [{ kind: "Secret", name: "values" }], {
      before: (ns) => secret(ns, "values", buildNamed("CANARY_A")),
    });
    await world.conditions("planned", DONE);
    await patch("planned", { spec: { approval: "Manual" } });
    await secret(getNamespace(x), "values", buildNamed("CANARY_B"));
    await world.conditions("planned", { Progressing: "False/AwaitingApproval" });
    const { status } = await world.get("planned");
    expect(JSON.stringify(status?.plan)).toContain(`env[name=${HIDDEN}]`);
    expect((await readAllTexts("planned")).toLowerCase()).not.toContain(CANARY);
    await patch("planned", { metadata: { annotations: { "olm.operatorframework.io/approve": status?.plan?.digest } } });
    await eventually(async () => expect(await readEnv(x)).toEqual(["canary-CANARY_B"]));
  });

  const withoutSecrets =
    (...more: PolicyRule[]) =>
    (namespace: string): RequiredRules => ({
      clusterRules: [],
      namespaceRules: new Map([
        [
          namespace,
          [
            { apiGroups: ["apps"], resources: ["*"], verbs: ["*"] },
            { apiGroups: [""], resources: ["configmaps", "pods", "resourcequotas"], verbs: ["*"] },
            ...more,
          ],
        ],
      ]),
      unknownKinds: [],
    });
  const mayRead = (verbs: string[], name: string): PolicyRule => ({
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [name],
    verbs,
  });

  test.for(["Enforce", "Warn"] as const)(
    "valuesFrom reads sources only with the permissions of the ServiceAccount when spec.permissions is %s",
    async (permissions) => {
      const name = `denied-${permissions.toLowerCase()}`;
      const x = await extension(
        name,
        [
          { kind: "Secret", name },
          { kind: "ConfigMap", name: "more", optional: true },
        ],
        {
          install: { permissions },
          computeRules: withoutSecrets(),
          before: (ns) => secret(ns, name, env("canary-denied")),
        },
      );
      const namespace = getNamespace(x);
      const { serviceAccount: account } = x.spec;
      const { Progressing = "", problems } = await world.conditions(name, { Installed: "False/Failed", Progressing: "True/Retrying" });
      expect(Progressing).toContain(
        `Namespace:"${namespace}" APIGroups:[] Resources:[secrets] ResourceNames:[${name}] Verbs:[get,list,watch]`,
      );
      expect(problems).toContain(`--namespace ${namespace} --service-account ${account?.name} --values-from Secret/${name} ConfigMap/more`);
      await eventually(async () => expect((await world.events(name)).join()).toContain("PermissionsMissing"));
      const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "may-read", namespace } };
      const subjects = [{ kind: "ServiceAccount", name: account?.name, namespace }];
      await cluster.client.create({ ...role, rules: [mayRead(["get", "list", "watch"], name)] });
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "may-read" };
      await cluster.client.create({ ...role, kind: "RoleBinding", roleRef, subjects });
      await world.conditions(name, DONE);
      expect(await readEnv(x)).toEqual(["canary-denied"]);
      const requests = (await cluster.auditEvents()).filter(
        ({ objectRef }) => objectRef?.resource === "secrets" && objectRef.name === name,
      );
      const users = new Set(requests.map(({ user }) => user.username));
      expect(users).toContain(`system:serviceaccount:${namespace}:${account?.name}`);
      expect(users).not.toContain(`system:serviceaccount:${CONTROLLER.namespace}:${CONTROLLER.name}`);
      await expectHidden(name);
    },
  );

  test("valuesFrom polls a source that cannot be watched, and a problem reports that the source is polled", async () => {
    await world[Symbol.asyncDispose]();
    await start(3_000);
    const x = await extension("unwatched", [{ kind: "Secret", name: "values" }], {
      install: { permissions: "Warn" },
      computeRules: withoutSecrets(mayRead(["get"], "values")),
      before: (ns) => secret(ns, "values", env("canary-before")),
    });
    const namespace = getNamespace(x);
    await world.expectProblem("unwatched", "ConfigurationWarning", {
      message: `cannot watch Secret ${namespace}/values, so the controller can take up to 1 minute`,
    });
    await world.conditions("unwatched", { ...DONE, Available: "True/Healthy" });
    await secret(namespace, "values", env("canary-after"));
    await eventually(async () => expect(await readEnv(x)).toEqual(["canary-after"]), { timeoutMs: 60_000 });
    await expectHidden("unwatched");
  });
});
