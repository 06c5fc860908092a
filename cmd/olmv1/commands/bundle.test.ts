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

test("validate tells that nothing was found", async () => {
  expect(await bundle("validate", SOUND_BUNDLE)).toEqual({ code: 0, out: "All validation tests have completed successfully\n", err: "" });
});

test("validate exits with 1 for an error in one of several bundles", async () => {
  using folder = new TempFolder();
  const broken = folder.write("broken", { ...tinyBundle("1.0.0"), "manifests/x.yaml": "kind: [" });
  const { code, out, err } = await bundle("validate", SOUND_BUNDLE, broken, "--severity", "error");
  expect([code, err]).toEqual([1, ""]);
  expect(out).toContain(
    `${SOUND_BUNDLE}:\nAll validation tests have completed successfully\n\n${broken}:\nerror: manifests/x.yaml: error parsing`,
  );
});

test("validate exits with 1 for warnings where that is asked for, and leaves out what is not", async () => {
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

test("validate refuses to ignore a rule that there is not", async () => {
  expect(await bundle("validate", SOUND_BUNDLE, "--ignore", "x")).toEqual({ code: 2, out: "", err: 'olmv1: unknown rule "x"\n' });
});

test("render prints the objects in the order of an apply, in the namespace that the bundle suggests", async () => {
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
  expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["hello-operator", undefined]));
});

test("render takes the configuration from standard input and the proxy from options, and prints a List", async () => {
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

test("render refuses a configuration as operator-controller does", async () => {
  const { code, out, err } = await runCli(["bundle", "render", SAMPLE, "--config", "-"], { stdin: "size: 3" });
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain('olmv1: invalid ClusterExtension configuration: invalid configuration: unknown field "size"');
});

test("render ends quietly when nobody reads any more", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../main.ts"), "bundle", "render", SAMPLE], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect([code, err]).toEqual([0, ""]);
});

test("a folder that there is not is told as one", async () => {
  const { code, err } = await bundle("render", "./nowhere");
  expect([code, err]).toEqual([2, "olmv1: ./nowhere: folder does not exist\n"]);
});

test("rbac is the command olmv1 rbac", async () => {
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
