import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { SOUND_BUNDLE } from "../../../test/support/brokenBundles.ts";
import { type Ended, olmv1, runCli } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { tinyBundle } from "../../../test/support/tinyBundle.ts";

const SAMPLE = join(import.meta.dirname, "../../../pkg/devcluster/sample/bundles/1.0.0");

const bundle = (...args: string[]): Promise<Ended> => olmv1("bundle", ...args);

test("bundle validate reports success when there are no findings", async () => {
  expect(await bundle("validate", SOUND_BUNDLE)).toEqual({ code: 0, out: "All validation tests have completed successfully\n", err: "" });
});

test("bundle validate exits with 1 for an error in one of several bundles", async () => {
  using folder = new TempFolder();
  const broken = folder.write("broken", { ...tinyBundle("1.0.0"), "manifests/x.yaml": "kind: [" });
  const { code, out, err } = await bundle("validate", SOUND_BUNDLE, broken, "--severity", "error");
  expect([code, err]).toEqual([1, ""]);
  expect(out).toContain(
    `${SOUND_BUNDLE}:\nAll validation tests have completed successfully\n\n${broken}:\nerror: manifests/x.yaml: error parsing`,
  );
});

test("bundle validate exits with 1 for warnings with --fail-on warning, and omits findings below --severity", async () => {
  using folder = new TempFolder();
  const warned = folder.write("warned", tinyBundle("1.0.0", { spec: { displayName: "Tiny" } }));
  const { code, out } = await bundle(
    "validate",
    warned,
    "--fail-on=warning",
    "--severity=warning",
    "--ignore=media-type-missing,channels,keywords",
    "--ignore=icon",
    "--output=json",
  );
  const { bundles, passed } = JSON.parse(out) as { passed: boolean; bundles: { findings: { rule: string }[] }[] };
  const rules = bundles[0]?.findings.map(({ rule }) => rule);
  expect([code, passed, rules]).toEqual([1, true, ["capabilities", "description", "maintainers", "provider"]]);
});

test("bundle validate rejects an unknown rule in --ignore", async () => {
  expect(await bundle("validate", SOUND_BUNDLE, "--ignore", "x")).toEqual({ code: 2, out: "", err: 'olmv1: unknown rule "x"\n' });
});

test("bundle render prints the objects in apply order, in the suggested namespace", async () => {
  const ended = await bundle("render", SAMPLE);
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const objects = parseYamlDocuments(ended.out) as KubeObject[];
  expect(objects.map(({ kind }) => kind)).toEqual([
    "ServiceAccount",
    "ConfigMap",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterRoleBinding",
    "Service",
    "Deployment",
  ]);
  expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["hello-operator-system", undefined]));
});

test("bundle render reads the configuration from standard input and the proxy from options, and prints a List", async () => {
  using folder = new TempFolder();
  const source = folder.write("bundle", watching("OwnNamespace", "MultiNamespace"));
  const args = [
    "bundle",
    "render",
    source,
    "--namespace=ns",
    "--config=-",
    "--operator-http-proxy=http://proxy.example.com:3128",
    "--output=json",
  ];
  const { code, out, err } = await runCli(args, { stdin: '{"watchNamespaces": ["one", "two"]}' });
  expect([code, err]).toEqual([0, ""]);
  expect(JSON.parse(out)).toMatchObject({ apiVersion: "v1", kind: "List", items: [{ kind: "Deployment", metadata: { namespace: "ns" } }] });
  expect(out).toContain('"olm.targetNamespaces":"one,two"');
  expect(out).toContain('"name":"HTTP_PROXY","value":"http://proxy.example.com:3128"');
});

test("bundle render rejects an invalid configuration with the message of operator-controller", async () => {
  const { code, out, err } = await runCli(["bundle", "render", SAMPLE, "--config", "-"], { stdin: "size: 3" });
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain('olmv1: invalid ClusterExtension configuration: invalid configuration: unknown field "size"');
});

test("bundle render exits with 0 when the reader closes the output", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../main.ts"), "bundle", "render", SAMPLE], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect([code, err]).toEqual([0, ""]);
});

test("bundle render reports a missing folder", async () => {
  const { code, err } = await bundle("render", "./nowhere");
  expect([code, err]).toEqual([2, "olmv1: ./nowhere: folder does not exist\n"]);
});

test("bundle rbac prints permission manifests like olmv1 rbac", async () => {
  const { code, out } = await bundle("rbac", SAMPLE);
  expect([code, out.split("\n")[0]]).toEqual([0, "# for hello-operator.v1.0.0"]);
});

/** A bundle that supports these install modes. */
function watching(...modes: string[]): Record<string, string> {
  const files = tinyBundle("1.0.0");
  const csv = JSON.parse(files["manifests/csv.yaml"] ?? "") as { spec: object };
  const spec = { ...csv.spec, installModes: modes.map((type) => ({ type, supported: true })) };
  return { ...files, "manifests/csv.yaml": JSON.stringify({ ...csv, spec }) };
}
