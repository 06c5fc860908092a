import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS } from "../../pkg/api/constants.ts";
import type { TrialReport } from "../../pkg/trial/trialReport.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { thingDefinition, waitForDefinition } from "../support/definitions.ts";
import { eventually } from "../support/eventually.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { type CliRun, type Ended, olmv1, runCli } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const GROUP = "try.example.com";
const DEFINITION = thingDefinition(GROUP);
const OWNED = { customresourcedefinitions: { owned: [{ name: `things.${GROUP}`, version: "v1", kind: "Thing" }] } };
/** Permissions of a cluster administrator wait for an approval. */
const ADMINISTRATOR = [{ serviceAccountName: "manager", rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }];

describeWithPrivateCluster("olmv1 bundle try", (cluster) => {
  let world: ManagedWorld;
  let folder: TempFolder;
  let repository: string;
  /** An existing namespace, which a trial keeps. */
  let kept: string;

  beforeAll(async () => {
    world = await ManagedWorld.start(cluster);
    folder = new TempFolder();
    folder.write("v1", tinyBundle("1.0.0", { objects: [DEFINITION], spec: OWNED }));
    folder.write("v2", tinyBundle("1.1.0", { objects: [DEFINITION], spec: OWNED, clusterPermissions: ADMINISTRATOR }));
    folder.write("broken", tinyBundle("1.2.0", { podOutcome: "CrashLoop" }));
    folder.write("conf", { "registries.conf": insecureRegistry(cluster.registry.host) });
    const built = await olmv1("bundle", "build", path("v1"), "--tag", `${cluster.registry.host}/previous:v1`, "--insecure");
    expect(built.code, built.err).toBe(0);
    kept = await cluster.namespace("kept");
    repository = `${cluster.registry.host}/scratch`;
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const path = (name: string): string => join(folder.path, name);
  const tryBundle = (bundle: string, args: readonly string[], run: CliRun = {}): Promise<Ended> =>
    runCli(["bundle", "try", path(bundle), "--kubeconfig", cluster.kubeconfig, "--registry", repository, "--insecure", ...args], {
      width: 200,
      env: { PATH: process.env["PATH"] ?? "" },
      ...run,
    });

  /** Returns everything that a trial may create and that exists. */
  async function listLeftovers(): Promise<string[]> {
    const kinds = [
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION },
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG },
      EXTENSION_PERMISSIONS,
      { apiVersion: "v1", kind: "Namespace" },
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
    ];
    const lists = await Promise.all(kinds.map((kind) => cluster.client.list(kind)));
    const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    const response = await fetch(`http://${repository.replace("/", "/v2/")}/tags/list`);
    const { tags } = (await response.json()) as { tags?: string[] | null };
    return [...names.filter((name) => name.includes("try-") || name.endsWith(GROUP)), ...(tags ?? [])];
  }

  test("olmv1 bundle try upgrades from an image to a folder, runs the checks with the names of the trial, and removes everything", async () => {
    const junit = path("trial.xml");
    const { code, out, err } = await tryBundle("v2", [
      `--from=${cluster.registry.host}/previous:v1`,
      `--registries-conf=${path("conf/registries.conf")}`,
      "--approve-permissions",
      `--junit=${junit}`,
      "--output=json",
      `--check-from=echo "$OLMV1_BUNDLE in $OLMV1_NAMESPACE"`,
      `--check=echo "$OLMV1_VERSION"; test -f "$KUBECONFIG"`,
    ]);
    expect([code, err], err).toEqual([0, expect.stringContaining("approved the permissions of the bundle")]);
    const { name, passed, steps } = JSON.parse(out) as TrialReport;
    expect([passed, steps.map((step) => [step.state, step.name, step.output])]).toEqual([
      true,
      [
        ["passed", "publish", undefined],
        ["passed", "install p.v1.0.0", undefined],
        ["passed", `check before the upgrade: echo "$OLMV1_BUNDLE in $OLMV1_NAMESPACE"`, `p.v1.0.0 in ${name}\n`],
        ["passed", "upgrade to p.v1.1.0", undefined],
        ["passed", `check: echo "$OLMV1_VERSION"; test -f "$KUBECONFIG"`, "1.1.0\n"],
        ["passed", "uninstall", undefined],
        ["passed", "clean up", undefined],
      ],
    ]);
    expect(readFileSync(junit, "utf8")).toContain('<testsuite name="bundle try p.v1.1.0" tests="7" failures="0"');
    expect(await listLeftovers()).toEqual([]);
  });

  test.for<[what: string, bundle: string, args: string[], message: RegExp]>([
    ["a check fails", "v1", ["--check", "echo reason; exit 3"], /^failed {2}check: .*\n {2}the command failed with exit code 3$/m],
    [
      "permissions wait for approval",
      "v2",
      [],
      /^failed {2}install p\.v1\.1\.0 .*\n(?: {2}.*\n)+ {2}Use --approve-permissions to approve them$/m,
    ],
    [
      "the bundle does not become ready",
      "broken",
      ["--timeout", "5s"],
      /^failed {2}install p\.v1\.2\.0 .*\n {2}try-\w+ is not ready after \d+ s$/m,
    ],
  ])("olmv1 bundle try fails and removes everything when %s", async ([, bundle, args, message]) => {
    const { code, out, err } = await tryBundle(bundle, ["--namespace", kept, ...args]);
    expect([code, out]).toEqual([1, expect.stringMatching(/^p\.v1\.\d\.0: failed\n$/)]);
    expect(err).toMatch(message);
    expect(err).toMatch(/^passed {2}uninstall .*\npassed {2}clean up /m);
    expect(await listLeftovers()).toEqual([]);
    expect((await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: kept }))?.metadata.deletionTimestamp).toBeUndefined();
  });

  test("olmv1 bundle try removes everything after Ctrl-C", async () => {
    const stop = new AbortController();
    const started = path("started");
    const running = tryBundle("v1", ["--check", `touch ${started}; sleep 600`], { signal: stop.signal });
    await eventually(() => expect(existsSync(started)).toBe(true));
    stop.abort(new Error("stopped by SIGINT"));
    const { code, err } = await running;
    expect(code).toBe(130);
    expect(err).toMatch(/^failed {2}check: .*\n {2}stopped by SIGINT\npassed {2}uninstall .*\npassed {2}clean up /m);
    expect(await listLeftovers()).toEqual([]);
  });

  test.for<[what: string, bundle: string, args: string[], message: string]>([
    ["another package", "v2", ["--from", "test/goldens/bundles"], "annotations.yaml"],
    ["a lower version", "v1", ["--from", "v2"], "its version 1.0.0 is not higher than 1.1.0"],
    ["no previous version", "v1", ["--check-from", "true"], "--check-from needs --from"],
  ])("olmv1 bundle try starts no trial with %s", async ([, bundle, args, message]) => {
    const { code, err } = await tryBundle(
      bundle,
      args.map((arg) => (arg === "v2" ? path(arg) : arg)),
    );
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  test("olmv1 bundle try starts no trial on a cluster with the package or its definitions", async () => {
    await world.create("own", "p", { namespace: "own" });
    const withPackage = await tryBundle("v1", []);
    expect([withPackage.code, withPackage.err]).toEqual([2, expect.stringContaining('ClusterExtension "own" has the same package')]);
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "own" });
    await eventually(async () =>
      expect(await cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "own" })).toBeUndefined(),
    );
    await cluster.client.create(DEFINITION);
    await waitForDefinition(cluster.client, DEFINITION);
    const withDefinition = await tryBundle("v1", []);
    expect([withDefinition.code, withDefinition.err]).toEqual([2, expect.stringContaining(`exist: things.${GROUP}. Use another cluster`)]);
    expect(await listLeftovers()).toEqual([`things.${GROUP}`]);
  });
});
