import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { boundProblems, newProblem } from "../../pkg/api/problems.ts";
import { renderTokenKubeconfig } from "../../pkg/devcluster/kubeconfig.ts";
import { parseYaml, parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { UpgradeCheck } from "../../pkg/openshift/upgradeCheck.ts";
import { ReleaseStore } from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import type { ReleaseStatus } from "../../pkg/release/record.ts";
import { encodeRelease } from "../../pkg/release/storage/encode.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { releaseRecord } from "../support/releases.ts";
import { runCli } from "../support/runCli.ts";
import { describeWithData } from "../support/sharedData.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLUSTER_VERSION = { apiVersion: "config.openshift.io/v1", kind: "ClusterVersion", name: "version" } as const;
const SECRET = { apiVersion: "v1", kind: "Secret" } as const;

/** The result of one run of the program. */
interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** One release of an extension: its maximum, or the whole text of olm.properties. */
interface Release {
  status?: ReleaseStatus;
  max?: string;
  properties?: string;
}

async function run(args: readonly string[]): Promise<Run> {
  const { code, out, err } = await runCli(["cluster-upgrade-check", ...args], { width: Number.POSITIVE_INFINITY });
  return { code, stdout: out, stderr: err };
}

const buildMaxVersion = (value: string): string => JSON.stringify([{ type: "olm.maxOpenShiftVersion", value }]);

describeWithPrivateCluster("olmv1 cluster-upgrade-check", (cluster) => {
  let store: ReleaseStore;
  let folder = "";
  const created: KubeObject[] = [];

  beforeAll(async () => {
    await cluster.installCrds();
    folder = await mkdtemp(join(tmpdir(), "olmv1-check-"));
    store = new ReleaseStore(cluster.client, SYSTEM_NAMESPACE);
    for (const object of await readObjects("config/namespace/namespace.yaml")) await apply(object);
  });
  afterEach(async () => {
    for (const object of created.splice(0)) await cluster.client.delete(toObjectRef(object));
    const { items } = await cluster.client.list(SECRET, { namespace: SYSTEM_NAMESPACE, labelSelector: "owner=operator-controller" });
    for (const secret of items) await cluster.client.delete(toObjectRef(secret));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const readObjects = async (file: string): Promise<KubeObject[]> =>
    parseYamlDocuments(await readFile(join(ROOT, file), "utf8")) as KubeObject[];
  const apply = (object: KubeObject): Promise<KubeObject> => cluster.client.apply(object, { fieldManager: "test", force: true });
  const check = (...args: string[]): Promise<Run> => run(["--kubeconfig", cluster.kubeconfig, ...args]);
  const checkJson = async (...args: string[]): Promise<{ code: number; answer: UpgradeCheck }> => {
    const { code, stdout, stderr } = await check("--output", "json", ...args);
    expect(stderr).toBe("");
    return { code, answer: JSON.parse(stdout) as UpgradeCheck };
  };

  /** Creates an extension on the cluster with these releases, oldest first. */
  async function extension(name: string, ...releases: Release[]): Promise<ClusterExtension> {
    const object = await cluster.client.create(createExtension(name, { packageName: name }));
    created.push(object);
    for (const [i, { status = "deployed", max, properties }] of releases.entries()) {
      const stated = max === undefined ? properties : buildMaxVersion(max);
      const record = releaseRecord(i + 1, status, {
        name,
        labels: { [LABEL_BUNDLE_NAME]: `${name}.v${i + 1}.0.0`, [LABEL_BUNDLE_VERSION]: `${i + 1}.0.0` },
        annotations: stated === undefined ? {} : { "olm.properties": stated },
        objects: ["a"],
      });
      await store.create(record, { name, uid: object.metadata.uid ?? "" });
    }
    return object;
  }

  const setStatus = (object: KubeObject, status: object): Promise<KubeObject> =>
    cluster.client.patch(toObjectRef(object), { status }, { type: "merge", subresource: "status" });

  describe("on a cluster other than OpenShift", () => {
    test("cluster-upgrade-check requires the target on a cluster other than OpenShift", async () => {
      await extension("old", { max: "4.18" });
      const { code, stdout, stderr } = await check();
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toBe(
        "olmv1: cannot determine the version of the cluster: this cluster has no ClusterVersion; set --cluster-version, or set the version to upgrade to with --to\n",
      );
      expect(await check("--to", "4.18")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^OK: no extension blocks the upgrade to 4\.18\n/),
      });
      expect(await check("--to", "4.19")).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^BLOCKED: 1 of 1 extensions blocks the upgrade to 4\.19\n/),
      });
    });

    test("cluster-upgrade-check accepts --cluster-version with or without a patch version", async () => {
      await extension("old", { max: "4.18" });
      for (const version of ["4.18.9", "4.18"]) {
        const { code, answer } = await checkJson("--cluster-version", version);
        expect([code, answer.clusterVersion, answer.target]).toEqual([1, version, "4.19"]);
      }
      expect((await check("--cluster-version", "4.17.3")).code).toBe(0);
    });
  });

  test.for<[why: string, args: string[], stderr: RegExp]>([
    ["an unknown option", ["--nope"], /^olmv1: unknown option '--nope'\. See --help\n$/],
    ["an argument", ["4.19"], /^olmv1: too many arguments for 'cluster-upgrade-check'/],
    ["another format", ["--output", "table"], /^olmv1: option '-o, --output <format>' argument 'table' is invalid/],
    ["an option without its value", ["--to"], /^olmv1: option '--to <version>' argument missing\. See --help\n$/],
    ["an invalid version of the cluster", ["--cluster-version", "four"], /^olmv1: --cluster-version: "four": /],
    ["an invalid target", ["--cluster-version", "4.18.9", "--to", "v4.19"], /^olmv1: --to: "v4\.19": /],
    [
      "a target lower than the current version",
      ["--cluster-version", "4.18.9", "--to", "4.18.8"],
      /^olmv1: --to: target version 4\.18\.8 is lower than cluster version 4\.18\.9\n$/,
    ],
    ["no kubeconfig", ["--kubeconfig", "/nonexistent"], /^olmv1: kubeconfig: ENOENT: .*\/nonexistent'\n$/],
    ["an unknown context", ["--context", "nope"], /^olmv1: kubeconfig: context "nope" does not exist\n$/],
  ])("cluster-upgrade-check exits with 2 and a one-line error for %s", async ([, args, stderr]) => {
    const result = await run(args.includes("--kubeconfig") ? args : ["--kubeconfig", cluster.kubeconfig, ...args]);
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toMatch(stderr);
  });

  test("cluster-upgrade-check exits with 2 and reports the failed request when no API server responds", async () => {
    const config = parseYaml(await readFile(cluster.kubeconfig, "utf8")) as { clusters: { cluster: { server: string } }[] };
    for (const one of config.clusters) one.cluster.server = "https://127.0.0.1:1";
    const path = join(folder, "dead");
    await writeFile(path, JSON.stringify(config));
    const result = await run(["--to", "4.19", "--kubeconfig", path]);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toMatch(
      /^olmv1: cannot read ClusterVersion "version": connect ECONNREFUSED 127\.0\.0\.1:1: the API server at 127\.0\.0\.1:1 does not respond; /,
    );
  });

  test("cluster-upgrade-check --help explains the exit codes and exits with 0", async () => {
    const { code, stdout } = await run(["--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "Exit codes:\n  0  no extension blocks the upgrade\n  1  an extension blocks the upgrade, or cannot be checked\n  2  the command failed\n",
    );
  });

  describe("on an OpenShift cluster", () => {
    beforeAll(async () => {
      for (const crd of await readObjects("test/support/openshift/clusterversions.yaml")) await apply(crd);
      await eventually(() => cluster.client.list(CLUSTER_VERSION));
      expect(await check()).toMatchObject({ code: 2, stderr: expect.stringContaining('ClusterVersion "version" does not exist') });
      const { name, ...kind } = CLUSTER_VERSION;
      const object = await cluster.client.create({ ...kind, metadata: { name }, spec: { clusterID: "1" } });
      expect(await check()).toMatchObject({ code: 2, stderr: expect.stringContaining("has no status.desired.version") });
      await setStatus(object, { desired: { version: "4.18.9" } });
    });

    test("cluster-upgrade-check reports that nothing blocks the upgrade when no extensions are installed", async () => {
      expect(await check()).toEqual({
        code: 0,
        stdout: "OK: no extension is installed, so none blocks the upgrade from 4.18.9 to 4.19\n",
        stderr: "",
      });
    });

    test("cluster-upgrade-check prints a verdict, a table with the blocking extensions first, and the next step", async () => {
      await extension("new", { max: "4.19" });
      await extension("old", { max: "4.18" });
      await extension("pending");
      await extension("plain", {});
      const { code, stdout } = await check();
      expect(code).toBe(1);
      expect(stdout).toBe(`BLOCKED: 1 of 4 extensions blocks the upgrade from 4.18.9 to 4.19

EXTENSION  BUNDLE        VERSION  MAXIMUM  VERDICT
old        old.v1.0.0    1.0.0    4.18     blocked
new        new.v1.0.0    1.0.0    4.19     compatible
pending    -             -        -        not installed
plain      plain.v1.0.0  1.0.0    -        unlimited

What to do:
  old: upgrade the extension to a bundle that supports 4.19, or uninstall it
`);
    });

    test("cluster-upgrade-check --output json prints the documented members", async () => {
      await extension("old", { max: "4.18" });
      await extension("new", { max: "4.19" });
      expect(await checkJson()).toEqual({
        code: 1,
        answer: {
          formatVersion: 1,
          clusterVersion: "4.18.9",
          target: "4.19",
          upgradeable: false,
          extensions: [
            {
              extension: "new",
              bundle: "new.v1.0.0",
              version: "1.0.0",
              maximum: "4.19",
              verdict: "compatible",
              blocks: false,
              message: "",
              remedy: "",
            },
            {
              extension: "old",
              bundle: "old.v1.0.0",
              version: "1.0.0",
              maximum: "4.18",
              verdict: "blocked",
              blocks: true,
              message: "",
              remedy: "",
            },
          ],
        },
      });
    });

    test.for<[to: string, code: number]>([
      ["4.18.10", 0],
      ["4.19.2", 0],
      ["4.20", 1],
    ])("cluster-upgrade-check --to %s exits with %i when the maximum is 4.19", async ([to, code]) => {
      await extension("new", { max: "4.19" });
      const { answer, code: ended } = await checkJson("--to", to);
      expect([ended, answer.target, answer.upgradeable]).toEqual([code, to, code === 0]);
    });

    test("cluster-upgrade-check checks the deployed release and later attempts, but not earlier releases", async () => {
      await extension("a", { status: "superseded", max: "4.17" }, { max: "4.18" }, { status: "pending-upgrade", max: "4.19" });
      await extension("b", { status: "superseded", max: "4.17" }, { max: "4.19" }, { status: "failed", max: "4.18" });
      await extension("c", { status: "superseded", max: "4.18" }, { max: "4.19" });
      const { code, answer } = await checkJson();
      expect(code).toBe(1);
      expect(answer.extensions.map(({ bundle, verdict }) => `${bundle} ${verdict}`)).toEqual([
        "a.v3.0.0 compatible",
        "a.v2.0.0 blocked",
        "b.v3.0.0 blocked",
        "b.v2.0.0 compatible",
        "c.v2.0.0 compatible",
      ]);
    });

    test("cluster-upgrade-check prints the remedy in the status of an extension only if it applies to the target version", async () => {
      const remedy = 'version 1.1.0 of catalog "x" would allow the cluster upgrade, but spec.source.catalog.version "1.0.x" excludes it';
      const message = `bundle "old.v1.0.0" (version 1.0.0) has olm.maxOpenShiftVersion 4.18, which blocks an upgrade of the cluster to 4.19; ${remedy}`;
      const condition = { type: "ClusterUpgradeBlocked", status: "True", reason: "IncompatibleOperatorInstalled", message };
      const details = { bundles: ["old.v1.0.0"], target: "4.19", remedy };
      const { problems } = boundProblems([newProblem("ClusterUpgradeBlocked", { message, details })]);
      const old = await extension("old", { max: "4.18" });
      await setStatus(old, { conditions: [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }], problems });
      expect((await check()).stdout).toContain(`  old: ${remedy}\n`);
      expect((await checkJson("--to", "4.19.3")).answer.extensions).toMatchObject([{ verdict: "blocked", remedy }]);
      expect((await checkJson("--to", "4.20")).answer.extensions).toMatchObject([{ verdict: "blocked", remedy: "" }]);
    });

    test("cluster-upgrade-check reports a block when properties are unreadable, and escapes control characters in bundle properties", async () => {
      await extension("odd", { properties: `[{"type":"olm.maxOpenShiftVersion","value":"\u009b2J"}]` });
      const { code, stdout } = await check();
      expect(code).toBe(1);
      expect(stdout).toContain("odd        odd.v1.0.0  1.0.0    -        error\n");
      expect(stdout).toContain(
        '  error(s) with cluster extension odd: error in bundle odd.v1.0.0: error converting to semver for version "\\u{9b}2J": invalid version format\n',
      );
      expect(stdout).toContain(
        "  odd: upgrade the extension to a bundle with a valid maximum such as 4.18, or without a maximum, or uninstall it\n",
      );
    });

    test("cluster-upgrade-check reports a block when a release is unreadable for any reason", async () => {
      const lost = await extension("lost");
      const owner = { name: "lost", uid: lost.metadata.uid ?? "" };
      const [index] = encodeRelease(releaseRecord(1, "deployed", { name: "lost" }), { systemNamespace: SYSTEM_NAMESPACE, owner });
      const data = { chunk: gzipSync('{"manifest": hidden}').toString("base64"), extraChunks: btoa("[]") };
      await cluster.client.create({ ...index!, data });
      const { code, answer } = await checkJson();
      expect(code).toBe(1);
      expect(answer.extensions).toMatchObject([
        {
          verdict: "error",
          blocks: true,
          message:
            'error returning the last deployed release for lost; release secret "sh.helm.release.v1.lost.v1" cannot be read: failed to decode release: line 1, column 14: unexpected character "h", expected a value',
        },
      ]);
      expect((await checkJson("--to", "4.18.20")).code).toBe(0);
    });

    test("cluster-upgrade-check reports an installed extension without a release", async () => {
      const elsewhere = await extension("elsewhere", { max: "4.19" });
      await setStatus(elsewhere, { conditions: [], install: { bundle: { name: "elsewhere.v1.0.0", version: "1.0.0" } } });
      expect((await check()).code).toBe(0);
      const { code, stdout } = await check("--system-namespace", "default");
      expect(code).toBe(1);
      expect(stdout).toContain(
        'status.install lists bundle "elsewhere.v1.0.0", but namespace "default" contains no release of this bundle; set --system-namespace',
      );
    });

    test("cluster-upgrade-check reads all extensions, and prints a shortened list as text and the complete list as JSON", async () => {
      const names = Array.from({ length: 110 }, (_, i) => `many-${String(i).padStart(3, "0")}`);
      for (const name of names) await extension(name, { max: name === "many-105" ? "4.18" : "4.19" });
      const { answer } = await checkJson();
      expect(answer.extensions.map(({ extension: name }) => name)).toEqual(names);
      const { stdout } = await check();
      expect(stdout).toMatch(/^BLOCKED: 1 of 110 extensions[^]*\nmany-105 [^]*\nmany-000 /);
      expect(stdout).toContain("... and 9 more compatible extensions; --output json lists all\n");
      expect(stdout).not.toContain("many-109");
    });

    describe("with the permissions of config/openshift/upgrade-checker.yaml", () => {
      let kubeconfig = "";
      let checker: KubeObject[] = [];

      beforeAll(async () => {
        const written = JSON.stringify(await readObjects("config/openshift/upgrade-checker.yaml"));
        checker = JSON.parse(written.replaceAll("openshift-operator-controller", SYSTEM_NAMESPACE)) as KubeObject[];
        for (const object of checker) await apply(object);
        const { name } = checker.find(({ kind }) => kind === "ServiceAccount")!.metadata;
        const token = join(folder, "token");
        await writeFile(token, await new ServiceAccountTokens(cluster.client).tokenFor(SYSTEM_NAMESPACE, name)());
        kubeconfig = join(folder, "kubeconfig");
        await writeFile(kubeconfig, await renderTokenKubeconfig(cluster.kubeconfig, token));
      });

      const asChecker = (...args: string[]): Promise<Run> => run(["--kubeconfig", kubeconfig, ...args]);

      test("cluster-upgrade-check succeeds with the permissions of config/openshift/upgrade-checker.yaml", async () => {
        await extension("old", { max: "4.18" });
        await eventually(async () => expect(await asChecker()).toMatchObject({ code: 1, stderr: "" }));
      });

      test.for<[kind: string, resource: string, verb: string, message: RegExp]>([
        [
          "ClusterRole",
          "clusterextensions",
          "list",
          /^olmv1: list ClusterExtensions: clusterextensions\.olm\.operatorframework\.io is forbidden: .* cannot list resource "clusterextensions"/,
        ],
        [
          "ClusterRole",
          "clusterversions",
          "get",
          /^olmv1: cannot read ClusterVersion "version": clusterversions\.config\.openshift\.io "version" is forbidden: .* cannot get resource "clusterversions"/,
        ],
        [
          "Role",
          "secrets",
          "list",
          /^olmv1: cannot read the releases of ClusterExtension "old": secrets is forbidden: .* cannot list resource "secrets" .* in the namespace "olmv1-system"/,
        ],
        [
          "Role",
          "secrets",
          "get",
          /^olmv1: cannot read the releases of ClusterExtension "old": secrets "sh\.helm\.release\.v1\.old\.v1" is forbidden: .* cannot get resource "secrets"/,
        ],
      ])("cluster-upgrade-check without %s %s %s reports the missing permission", async ([kind, resource, verb, message]) => {
        await extension("old", { max: "4.18" });
        const role = checker.find((object) => object.kind === kind)!;
        const rules = (role["rules"] as { resources: string[]; verbs: string[] }[])
          .map((rule) => (rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule))
          .filter(({ verbs }) => verbs.length > 0);
        await apply({ ...role, rules });
        try {
          await eventually(async () => {
            const { code, stdout, stderr } = await asChecker();
            expect([code, stdout]).toEqual([2, ""]);
            expect(stderr).toMatch(message);
            expect(stderr).toMatch(/; config\/openshift\/upgrade-checker\.yaml grants this permission\n$/);
          });
        } finally {
          await apply(role);
        }
      });
    });

    describeWithData("releases that the Go operator-controller wrote", (data) => {
      /** Creates the releases of the recorded cluster for an extension on this cluster; `change` is merged into the chart annotations. */
      async function flux(change: Record<string, string> = {}): Promise<void> {
        const recorded = JSON.parse(await readFile(join(data, "go-release/secrets.json"), "utf8")) as
          | { items: KubeObject[] }
          | KubeObject[];
        const { metadata } = await extension("flux");
        for (const secret of Array.isArray(recorded) ? recorded : recorded.items) {
          const { name, labels, ownerReferences = [] } = secret.metadata;
          const { chunk = "", ...rest } = secret["data"] as Record<string, string>;
          const payload = JSON.parse(gunzipSync(Buffer.from(chunk, "base64")).toString("utf8")) as {
            chart: { metadata: { annotations: Record<string, string> } };
          };
          Object.assign(payload.chart.metadata.annotations, change);
          await cluster.client.create({
            ...secret,
            metadata: {
              name,
              namespace: SYSTEM_NAMESPACE,
              labels: labels ?? {},
              ownerReferences: ownerReferences.map((owner) => ({ ...owner, uid: metadata.uid ?? "" })),
            },
            data: { ...rest, chunk: gzipSync(JSON.stringify(payload)).toString("base64") },
          });
        }
      }

      test("cluster-upgrade-check also checks releases of the Go operator-controller", async () => {
        await flux();
        expect(await checkJson()).toMatchObject({
          code: 0,
          answer: { extensions: [{ bundle: "flux-operator.v0.38.1", version: "0.38.1", maximum: null, verdict: "unlimited" }] },
        });
      });

      test("cluster-upgrade-check reports a block for a Go release with olm.maxOpenShiftVersion in the annotation of its chart", async () => {
        await flux({ "olm.properties": '[{"type":"olm.maxOpenShiftVersion","value":4.18}]' });
        expect(await checkJson()).toMatchObject({
          code: 1,
          answer: { extensions: [{ bundle: "flux-operator.v0.38.1", maximum: "4.18", verdict: "blocked" }] },
        });
      });
    });
  });
});
