import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  PERMISSION_POLICY,
} from "../../pkg/api/constants.ts";
import type { ExtensionPermissions } from "../../pkg/api/extensionPermissions.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { PermissionPolicySpec } from "../../pkg/api/permissionPolicy.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { type Ended, olmv1 } from "../support/runCli.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const configMap = (name: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } });
const clusterRole = (verbs: string[]): KubeObject => ({
  apiVersion: RBAC,
  kind: "ClusterRole",
  metadata: { name: "powerful" },
  rules: [{ apiGroups: [RBAC.split("/")[0]], resources: ["clusterroles"], verbs }],
});
/** By tag. Version 1.1.0 needs a root-equivalent permission. */
const BUNDLES = {
  "v1.0.0": tinyBundle("1.0.0", { objects: [configMap("first"), clusterRole(["get"])] }),
  "v1.1.0": tinyBundle("1.1.0", { objects: [configMap("second"), clusterRole(["escalate", "get"])] }),
};
const ENTRIES = [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }];
const toFiles = (files: Readonly<Record<string, string>>): Map<string, Buffer> =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

describeWithPrivateCluster("olmv1 permissions", (cluster) => {
  let world: OperatorWorld;
  let dir: string;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    dir = await mkdtemp(join(tmpdir(), "olmv1-permissions-"));
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
    const images: { name: string; version: string; image: string }[] = [];
    for (const [tag, files] of Object.entries(BUNDLES)) {
      const { digest } = await pushImage(cluster.registry, "p", tag, { files: toFiles(files) });
      world.bundle(`p:${tag}`, files, digest);
      images.push({ name: `p.${tag}`, version: tag.slice(1), image: `registry.example/p@${digest}` });
    }
    const catalog = [
      { schema: "olm.package", name: "p" },
      { schema: "olm.channel", package: "p", name: "stable", entries: ENTRIES },
      ...images.map(({ name, version, image }) => ({
        schema: "olm.bundle",
        package: "p",
        name,
        image,
        properties: [{ type: "olm.package", value: { packageName: "p", version } }],
      })),
    ];
    const { digest } = await pushImage(cluster.registry, "catalog", "latest", {
      files: toFiles({ "configs/catalog.json": catalog.map((meta) => JSON.stringify(meta)).join("\n") }),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    await world.serve({ channels: { stable: ENTRIES }, bundles: images.map(({ name, image }) => ({ name, image })) });
    // olmv1 pulls the image of the catalog.
    const resolvedSource = { type: "Image", image: { ref: `registry.example/catalog@${digest}` } };
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
    await cluster.client.patch(ref, { status: { resolvedSource } }, { type: "merge", subresource: "status" });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<Ended> => {
    const registry = /diff|test|plan|install/.test(args.slice(0, 3).join(" ")) ? ["--registries-conf", join(dir, "registries.conf")] : [];
    return olmv1(...args, "--kubeconfig", cluster.kubeconfig, ...registry);
  };
  const setPolicy = (name: string, spec: PermissionPolicySpec): Promise<KubeObject> =>
    cluster.client.apply({ ...PERMISSION_POLICY, metadata: { name }, spec }, { fieldManager: "test", force: true });
  const toRef = (name: string): ObjectRef => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const create = (name: string, version: string, more: object = {}): Promise<KubeObject> =>
    cluster.client.create({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name },
      spec: { namespace: `${name}-system`, ...more, source: { sourceType: "Catalog", catalog: { packageName: "p", version } } },
    });
  const setVersion = (name: string, version: string): Promise<KubeObject> =>
    cluster.client.patch(toRef(name), { spec: { source: { catalog: { version } } } }, { type: "merge" });
  const read = async (name: string): Promise<ExtensionPermissions> => {
    const found = await cluster.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name });
    if (!found) throw new Error(`ExtensionPermissions ${name} does not exist`);
    return found;
  };

  const wait = (name: string): Promise<unknown> => world.conditions(name, { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
  const listVerbs = async (name: string): Promise<string[]> => {
    const role = await cluster.client.get({ apiVersion: RBAC, kind: "ClusterRole", name: `olmv1-extension-${name}` });
    return ((role?.["rules"] ?? []) as { verbs: string[] }[]).flatMap(({ verbs }) => verbs);
  };

  test("olmv1 plan shows the permissions of an extension that does not exist yet, and exits with 1 when its policy denies them", async () => {
    await setPolicy("strict", { deny: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }] });
    const file = join(dir, "new.json");
    const source = { sourceType: "Catalog", catalog: { packageName: "p", version: "1.0.0" } };
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "new-system" } });
    const write = (permissionPolicy: string): Promise<void> =>
      writeFile(
        file,
        JSON.stringify({
          apiVersion: API_VERSION,
          kind: CLUSTER_EXTENSION,
          metadata: { name: "new" },
          spec: { namespace: "new-system", install: { permissionPolicy }, source },
        }),
      );
    await write("strict");
    const denied = await run("plan", "-f", file);
    expect([denied.code, denied.out]).toEqual([
      1,
      expect.stringContaining("Added, but the policy denies it:\n  in namespace new-system:\n"),
    ]);
    expect(denied.out).toContain("    create configmaps: first (deny[0])\n");
    await write("missing");
    const unknown = await run("plan", "-f", file);
    expect([unknown.code, unknown.out]).toEqual([
      0,
      expect.stringContaining('Permissions are unknown: PermissionPolicy "missing" does not exist: see kubectl get permissionpolicies\n'),
    ]);
    expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name: "new" })).toBeUndefined();
  });

  test("olmv1 permissions list and show print granted permissions", async () => {
    await setPolicy("default", {});
    await create("car", "1.0.0");
    await wait("car");
    const { out } = await run("permissions", "list");
    expect(out).toMatch(
      /^NAME +STATE +POLICY +RULES +BROAD +NAMESPACE +ACCESS +AGE\ncar +Granted +default +5 +0 +car-system +Full +\d+s\n$/,
    );
    expect(await run("permissions", "list", "--state", "Denied")).toEqual({
      code: 0,
      out: "",
      err: "no ExtensionPermissions in state Denied\n",
    });
    expect((await run("permissions", "list", "-o", "name")).out).toBe("extensionpermissions.olm.operatorframework.io/car\n");
    const shown = await run("permissions", "show", "car");
    expect(shown.out).toContain("\nService account:  olmv1-extension-car\n");
    expect(shown.out).toContain("  in namespace car-system:\n    manage configmaps: first\n");
    expect((await run("permissions", "show", "car", "-o", "jsonpath={.status.state}")).out).toBe("Granted");
  });

  test("olmv1 permissions diff and olmv1 plan show which permissions of another version the policy grants, and change nothing", async () => {
    const before = await read("car");
    const diff = await run("permissions", "diff", "car", "--version", "1.1.0");
    expect([diff.code, diff.err]).toEqual([1, ""]);
    const changes = diff.out.slice(diff.out.indexOf("Added,"));
    expect(diff.out).toMatch(/^from p\.v1\.0\.0 to p\.v1\.1\.0\n/);
    expect(changes).toBe(
      [
        "Added, without approval:",
        "  in namespace car-system:",
        "    manage configmaps: second",
        "Added, after approval:",
        "  cluster-wide:",
        "    escalate clusterroles.rbac.authorization.k8s.io: all (RoleEscalation)",
        "Removed when the new bundle is healthy:",
        "  in namespace car-system:",
        "    manage configmaps: first",
        "Risks:",
        "  RoleEscalation (root-equivalent): a holder can grant any permission: edit a role, or bind an existing one",
        "1 rule would wait for approval, and the installed bundle would keep its permissions",
        "  approve after the request: olmv1 permissions approve car",
        "",
      ].join("\n"),
    );
    const same = await run("permissions", "diff", "car");
    expect([same.code, same.out]).toEqual([
      0,
      "from p.v1.0.0 to p.v1.0.0\n\nPermissions of ServiceAccount car-system/olmv1-extension-car with PermissionPolicy default: no change\n",
    ]);
    const none = await run("permissions", "diff", "car", "--version", "9.0.0");
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('no bundles found for package "p" matching version "9.0.0"')]);
    const plan = await run("plan", "car", "--version", "1.1.0");
    expect([plan.code, plan.err]).toEqual([0, ""]);
    expect(plan.out).toContain(changes);
    const { permissions } = JSON.parse((await run("plan", "car", "--version", "1.1.0", "-o", "json")).out) as { permissions: object };
    expect(permissions).toMatchObject({ policy: "default", state: "Pending", pending: [{ verbs: ["escalate"], risk: "RoleEscalation" }] });
    expect((await read("car")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test("olmv1 permissions approve approves exactly the rules that wait, and waits for the bundle", async () => {
    const none = await run("permissions", "approve", "car", "--yes");
    expect(none).toEqual({ code: 1, out: "", err: 'no permissions of ClusterExtension "car" wait for approval\n' });
    await setVersion("car", "1.1.0");
    await world.expectProblem("car", "PermissionsPending");
    const { status } = await read("car");
    expect((await run("permissions", "list", "--state", "Pending", "-o", "name")).out).toContain("/car\n");
    const other = await run("permissions", "approve", "car", "--digest", "sha256:0");
    expect([other.code, other.err]).toEqual([2, expect.stringContaining(`have digest ${status?.pendingDigest}, not sha256:0`)]);
    const silent = await run("permissions", "approve", "car");
    expect([silent.code, silent.err]).toEqual([2, "olmv1: not a terminal: use --yes to confirm (no changes were made)\n"]);
    expect((await read("car")).metadata.annotations).toBeUndefined();
    const { code, out, err } = await run("permissions", "approve", "car", "--digest", status?.pendingDigest ?? "");
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(
        "  cluster-wide:\n    escalate clusterroles.rbac.authorization.k8s.io: all (RoleEscalation: a holder can grant any permission: edit a role, or bind an existing one)\ndigest: sha256:",
      ),
    ]);
    expect(err).toMatch(/^car: p\.v1\.1\.0 \(version 1\.1\.0\) is installed and ready after \d+ s$/m);
    expect((await read("car")).metadata.annotations).toEqual({ [ANNOTATION_APPROVE]: status?.pendingDigest });
    expect(await listVerbs("car")).toContain("escalate");
    const shown = (await run("permissions", "show", "car")).out;
    expect(shown).toContain("\nRevoke:           olmv1 permissions revoke car\n");
    expect(shown).toMatch(/ago +Approved +p\.v1\.1\.0 +\+2 -0$/m);
  });

  test("olmv1 permissions revoke takes away only the permissions that the policy does not grant", async () => {
    const { code, out, err } = await run("permissions", "revoke", "car", "--yes");
    expect([code, out]).toEqual([0, "ExtensionPermissions car: approval revoked\n"]);
    expect(err).toContain("  cluster-wide:\n    escalate clusterroles.rbac.authorization.k8s.io: all (RoleEscalation)\nWarning: ");
    await eventually(async () => {
      expect((await read("car")).status).toMatchObject({
        state: "Pending",
        history: [{ reason: "Revoked", added: 0, removed: 1 }, {}, {}, {}],
      });
      expect(await listVerbs("car")).not.toContain("escalate");
    });
    expect((await run("permissions", "show", "car")).out).toContain("    manage configmaps: second\n");
    expect(await run("permissions", "revoke", "car")).toEqual({
      code: 1,
      out: "",
      err: "no permissions of ClusterExtension car are approved\n",
    });
    expect((await run("permissions", "approve", "car", "--yes")).code).toBe(0);
    expect(await listVerbs("car")).toContain("escalate");
    await world.remove("car");
  });

  test("an extension whose approval was revoked is uninstalled after another approval", async () => {
    await setPolicy("manual", { grant: "Manual" });
    await create("bus", "1.0.0", { install: { permissionPolicy: "manual" } });
    await world.expectProblem("bus", "PermissionsPending");
    expect((await run("permissions", "approve", "bus", "--yes")).code).toBe(0);
    await run("permissions", "revoke", "bus", "--yes");
    await eventually(async () => expect((await read("bus")).status).toMatchObject({ state: "Pending", ruleCount: 0 }));
    await cluster.client.delete(toRef("bus"));
    await eventually(async () => expect((await read("bus")).status?.extensionGeneration).toBeGreaterThan(1));
    expect((await read("bus")).status?.state).toBe("Pending");
    await run("permissions", "approve", "bus", "--yes", "--no-wait");
    await world.gone("bus");
    await eventually(async () => expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name: "bus" })).toBeUndefined());
  });

  test("olmv1 install ends when the permissions wait for approval or the policy denies them", async () => {
    const install = (name: string): Promise<Ended> =>
      run("install", "p", "--name", name, "--namespace", `${name}-system`, "--version", "1.1.0", "--yes");
    const waiting = await install("tram");
    expect([waiting.code, waiting.err]).toEqual([0, expect.stringContaining("\ntram: its permissions wait for approval\n")]);
    expect(waiting.err).toContain("\n  olmv1 permissions approve tram\n");
    await world.remove("tram");
    await setPolicy("default", { deny: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }] });
    const denied = await install("taxi");
    expect([denied.code, denied.err]).toEqual([1, expect.stringContaining("\ntaxi failed\n")]);
    expect(denied.err).toContain("\n  olmv1 permissions show taxi\n");
    await world.remove("taxi");
    await setPolicy("default", { deny: [] });
  });

  test("olmv1 permissions reports extensions without ExtensionPermissions", async () => {
    const gone = await run("permissions", "show", "nothing");
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining('ClusterExtension "nothing" not found')]);
    await world.extension("own", { catalog: { version: "1.0.0" } });
    const own = await run("permissions", "approve", "own", "--yes");
    expect([own.code, own.err]).toEqual([
      2,
      expect.stringContaining('ExtensionPermissions "own" does not exist: the extension uses ServiceAccount "own-installer"'),
    ]);
    const diff = await run("permissions", "diff", "own", "--version", "1.1.0");
    expect([diff.code, diff.err]).toEqual([2, expect.stringContaining('the extension uses ServiceAccount "own-installer"')]);
  });

  test("olmv1 permissions policy test checks a package with a policy of the cluster", async () => {
    const test = (policy: string, ...args: string[]): Promise<Ended> =>
      run("permissions", "policy", "test", policy, "--bundle", "p", ...args);
    const pending = await test("default", "-o", "json");
    expect([pending.code, JSON.parse(pending.out)]).toEqual([
      1,
      expect.objectContaining({ policy: "default", bundle: "p.v1.1.0", namespace: "p-system", state: "Pending", notes: [] }),
    ]);
    expect((await test("default", "--version", "1.0.0")).code).toBe(0);
    await setPolicy("certified", { covers: { catalogs: { matchLabels: { tier: "certified" } } } });
    const uncovered = await test("certified", "--version", "1.0.0");
    expect([uncovered.code, uncovered.out]).toEqual([
      1,
      expect.stringContaining('Denied: covers.catalogs does not select ClusterCatalog "c"'),
    ]);
    await cluster.client.delete({ ...PERMISSION_POLICY, name: "default" });
    expect((await test("default", "--version", "1.0.0")).out).toContain("Note: PermissionPolicy default does not exist; ");
    const missing = await test("missing");
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('PermissionPolicy "missing" does not exist')]);
  });
});
