import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ANNOTATION_APPROVE,
  ANNOTATION_RECONCILE_REQUESTED_AT,
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
} from "../../pkg/api/constants.ts";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { buildOperatorConditionCrd, OPERATOR_CONDITION, type OperatorConditionObject } from "../../pkg/api/operatorCondition.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import type { OperatorConditionUse } from "../../pkg/render/operatorCondition.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { eventTexts } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const PROGRAM = join(import.meta.dirname, "../support/conditionProgram.ts");
const VERSIONS = ["1.0.0", "1.1.0", "1.2.0"] as const;
const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded", Available: "True/Healthy" };
const HELD = { Progressing: "False/NotUpgradeable", Installed: "True/Succeeded", Available: "True/Healthy", Ready: "False/NotUpgradeable" };
const RBAC = "rbac.authorization.k8s.io/v1";

function buildFiles(version: string): Record<string, string> {
  const labels = { app: "tiny" };
  const containers = [{ name: "manager", image: `registry.example.com/tiny:${version}` }];
  return tinyBundle(version, {
    objects: [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "tiny-account" } }],
    deployment: { template: { metadata: { labels }, spec: { serviceAccountName: "tiny-account", containers } } },
  });
}

/** Returns exactly the permissions for all versions. */
function computeOlderRules(namespace: string, operatorCondition: OperatorConditionUse = "None") {
  const objects = VERSIONS.flatMap((version) => {
    const files = new Map(Object.entries(buildFiles(version)).map(([path, text]) => [path, Buffer.from(text)]));
    return renderBundle(loadBundle(files), { installNamespace: namespace, operatorCondition });
  });
  return computeRequiredRules(objects, { installNamespace: namespace });
}

/** Returns exactly the permissions for all versions with their OperatorConditions. */
const computeRules = (namespace: string) => computeOlderRules(namespace, "All");

// Source: D-35; operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/operatorconditions.go, operator-lib v0.19.0 conditions.
describeWithPrivateCluster("OperatorConditions", (cluster) => {
  let world: OperatorWorld;
  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
    for (const version of VERSIONS) world.bundle(`p.v${version}`, buildFiles(version));
    const bundles = VERSIONS.map((version) => `p.v${version}`);
    await world.serve({ channels: { stable: bundles }, bundles });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const install = (name: string, version: string, parts: object = {}): Promise<unknown> =>
    world.extension(name, { computeRules, catalog: { version, upgradeConstraintPolicy: "SelfCertified" }, ...parts });
  const patch = (name: string, body: object): Promise<KubeObject> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, { type: "merge" });
  const upgrade = (name: string, version: string): Promise<KubeObject> => patch(name, { spec: { source: { catalog: { version } } } });
  const find = (name: string, version: string): Promise<OperatorConditionObject | undefined> =>
    cluster.client.get<OperatorConditionObject>({ ...OPERATOR_CONDITION, namespace: `${name}-system`, name: `p.v${version}` });
  const readDeployment = async (name: string): Promise<{ generation: number | undefined; env: JsonObject[] }> => {
    const found = await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: `${name}-system`, name: "tiny" });
    const { spec, metadata } = found as unknown as KubeObject & { spec: { template: { spec: { containers: { env?: JsonObject[] }[] } } } };
    return { generation: metadata.generation, env: spec.template.spec.containers[0]?.env ?? [] };
  };
  const readAuthority = (): string => {
    const { clusters } = parseYaml(readFileSync(cluster.kubeconfig, "utf8")) as { clusters: [{ cluster: Record<string, string> }] };
    return Buffer.from(clusters[0].cluster["certificate-authority-data"] ?? "", "base64").toString("utf8");
  };
  /** Runs the program of the operator with the environment of its Deployment and the token of its ServiceAccount. */
  const runProgram = async (name: string, ...args: string[]): Promise<string> => {
    using folder = new TempFolder();
    const namespace = `${name}-system`;
    const token = await new ServiceAccountTokens(cluster.client).tokenFor(namespace, "tiny-account")();
    folder.write("account", { namespace: `${namespace}\n`, token, "ca.crt": readAuthority() });
    const variables = (await readDeployment(name)).env.map((variable) => [variable["name"], variable["value"]]);
    const env = { ...Object.fromEntries(variables), API_SERVER: cluster.server, ACCOUNT_FOLDER: join(folder.path, "account") } as Record<
      string,
      string
    >;
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env });
    return stdout.trim();
  };
  const becomes = (name: string, wanted: string): Promise<void> =>
    world.until(name, ({ status }) => {
      const shown = JSON.stringify(status?.conditions, undefined, 1);
      expect(status?.install?.bundle.version, shown).toBe(wanted);
    });
  const forbidUpgrade = (name: string): Promise<string> =>
    runProgram(name, "Upgradeable", "False", "Migrating", "the migration of data\u001B[31m has not finished");
  const version = (name: string): Promise<string | undefined> => world.get(name).then(({ status }) => status?.install?.bundle.version);

  test("an installed bundle keeps its Pods when the cluster begins to serve OperatorConditions, and gets one with the next upgrade", async () => {
    await install("early", "1.0.0");
    await world.conditions("early", DONE);
    const before = await readDeployment("early");
    expect(before.env).toEqual([]);
    const crd = buildOperatorConditionCrd();
    await cluster.client.create(crd);
    await waitForDefinition(cluster.client, crd);
    await world.restart();
    await patch("early", { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: "1" } } });
    await world.until("early", ({ status }) => expect(status?.lastHandledReconcileAt).toBe("1"));
    expect([await readDeployment("early"), await world.releases("early")]).toEqual([before, ["v1 deployed"]]);
    expect(await find("early", "1.0.0")).toBeUndefined();
    await upgrade("early", "1.1.0");
    await becomes("early", "1.1.0");
    expect((await readDeployment("early")).env).toEqual([{ name: "OPERATOR_CONDITION_NAME", value: "p.v1.1.0" }]);
    expect((await find("early", "1.1.0"))?.spec).toEqual({ serviceAccounts: ["tiny-account"], deployments: ["tiny"] });
  });

  test("the program of an operator reads and writes its condition, which is not reverted as drift and leaves with the next upgrade", async () => {
    await install("speaks", "1.0.0");
    await world.conditions("speaks", DONE);
    await expect(runProgram("speaks", "Upgradeable")).rejects.toThrow("conditionType Upgradeable not found");
    await runProgram("speaks", "Upgradeable", "True", "Idle", "nothing to do");
    expect(await runProgram("speaks", "Upgradeable")).toBe("True");
    await patch("speaks", { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: "1" } } });
    await world.until("speaks", ({ status }) => expect(status?.lastHandledReconcileAt).toBe("1"));
    expect((await find("speaks", "1.0.0"))?.spec?.conditions).toMatchObject([{ type: "Upgradeable", status: "True", reason: "Idle" }]);
    expect((await world.get("speaks")).status?.problems).toBeUndefined();
    await upgrade("speaks", "1.1.0");
    await becomes("speaks", "1.1.0");
    expect([await find("speaks", "1.0.0"), (await find("speaks", "1.1.0"))?.spec?.conditions]).toEqual([undefined, undefined]);
    await expect(runProgram("speaks", "Upgradeable")).rejects.toThrow("conditionType Upgradeable not found");
    await world.remove("speaks");
    expect(await find("speaks", "1.1.0")).toBeUndefined();
    for (const kind of ["Role", "RoleBinding"])
      expect(await cluster.client.get({ apiVersion: RBAC, kind, namespace: "speaks-system", name: "p.v1.1.0" })).toBeUndefined();
  });

  test("an upgrade waits while the operator does not allow it, and resumes when the operator allows it", async () => {
    await install("held", "1.0.0");
    await world.conditions("held", DONE);
    await forbidUpgrade("held");
    const before = await readDeployment("held");
    await upgrade("held", "1.1.0");
    const { Progressing } = await world.conditions("held", HELD);
    const message =
      'bundle "p.v1.1.0" is not installed: the installed operator sets condition Upgradeable in OperatorCondition "held-system/p.v1.0.0": Migrating: the migration of data\\u{1b}[31m has not finished';
    expect(Progressing).toContain(message);
    await world.expectProblem("held", "NotUpgradeable", {
      message,
      next: "kubectl describe operatorconditions.operators.coreos.com p.v1.0.0 --namespace held-system",
    });
    await eventually(async () =>
      expect(await world.events("held")).toContainEqual(expect.stringMatching(/^NotUpgradeable: .*the migration of data/)),
    );
    expect([await readDeployment("held"), await version("held")]).toEqual([before, "1.0.0"]);
    await runProgram("held", "Upgradeable", "True", "Done", "");
    await world.conditions("held", DONE);
    expect(await version("held")).toBe("1.1.0");
  });

  test("an approved upgrade waits too, and an override of the administrator ends the wait", async () => {
    await install("approved", "1.0.0");
    await world.conditions("approved", DONE);
    await patch("approved", { spec: { approval: "Manual" } });
    await upgrade("approved", "1.1.0");
    await world.conditions("approved", { Progressing: "False/AwaitingApproval" });
    const { status } = await world.get("approved");
    await forbidUpgrade("approved");
    await patch("approved", { metadata: { annotations: { [ANNOTATION_APPROVE]: status?.plan?.digest } } });
    await world.conditions("approved", HELD);
    const overrides = [{ type: "Upgradeable", status: "True", reason: "Checked", message: "the data is safe" }];
    await cluster.client.patch(
      { ...OPERATOR_CONDITION, namespace: "approved-system", name: "p.v1.0.0" },
      { spec: { overrides } },
      { type: "merge" },
    );
    await world.conditions("approved", DONE);
    expect(await version("approved")).toBe("1.1.0");
  });

  test("a rollback and an uninstallation do not wait for the operator", async () => {
    await install("back", "1.0.0");
    await world.conditions("back", DONE);
    await upgrade("back", "1.1.0");
    await becomes("back", "1.1.0");
    await forbidUpgrade("back");
    await patch("back", { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: "1" } } });
    await becomes("back", "1.0.0");
    expect((await readDeployment("back")).env).toEqual([{ name: "OPERATOR_CONDITION_NAME", value: "p.v1.0.0" }]);
    await forbidUpgrade("back");
    await world.remove("back");
    expect(await find("back", "1.0.0")).toBeUndefined();
  });

  test("a ServiceAccount without permission for OperatorConditions installs the bundle without one, and an Event reports it", async () => {
    await world.extension("older", { computeRules: computeOlderRules, catalog: { version: "1.0.0" } });
    await world.conditions("older", DONE);
    expect((await readDeployment("older")).env).toEqual([]);
    expect(await find("older", "1.0.0")).toBeUndefined();
    const skipped =
      /^OperatorConditionSkipped: ServiceAccount older-system\/\S+ may not create OperatorConditions, so bundle "p\.v1\.0\.0" gets none\./;
    await eventually(async () => expect(await eventTexts(cluster.client, "older")).toContainEqual(expect.stringMatching(skipped)));
  });

  test("permission-manager grants an extension the permissions for its OperatorCondition", async () => {
    await world[Symbol.asyncDispose]();
    world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    for (const one of VERSIONS) world.bundle(`p.v${one}`, buildFiles(one));
    const bundles = VERSIONS.map((one) => `p.v${one}`);
    await world.serve({ channels: { stable: bundles }, bundles });
    const catalog = { packageName: "p", version: "1.0.0", upgradeConstraintPolicy: "SelfCertified" };
    const spec = { namespace: "managed-system", source: { sourceType: "Catalog", catalog } };
    await cluster.client.create({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "managed" }, spec });
    await world.conditions("managed", DONE);
    await upgrade("managed", "1.1.0");
    await becomes("managed", "1.1.0");
    await runProgram("managed", "Upgradeable", "True", "Idle", "");
    const permissions = await cluster.client.get({ ...EXTENSION_PERMISSIONS, name: "managed" });
    expect(permissions?.["spec"]).toMatchObject({ bundle: { name: "p.v1.1.0", operatorCondition: true } });
    await world.remove("managed");
  });
});
