import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../test/support/runCli.ts";
import { mergeConfigFiles } from "./renderedBundle.ts";

const SAMPLE = join(import.meta.dirname, "../../devcluster/sample/bundles/1.0.0");
const FILES = {
  "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: map }\ndata: { values.yaml: 'a: { b: 1, c: 2 }', other: '[1]' }\n",
  "secrets.yaml": `apiVersion: v1
kind: Secret
metadata: { name: one }
data: { prod.yaml: ${Buffer.from("a: { c: hunter2-hunter2 }").toString("base64")} }
---
apiVersion: v1
kind: Secret
metadata: { name: two }
stringData: { prod.yaml: "d: [hunter3-hunter3]" }
`,
  "list.json": JSON.stringify({ kind: "List", items: [{ kind: "ConfigMap", metadata: { name: "l" }, data: { "values.yaml": "e: 1" } }] }),
  "wrong.yaml": "kind: Secret\nmetadata: { name: w }\nstringData: { values.yaml: 'password: hunter2-hunter2' }\n",
  "pod.yaml": "kind: Pod\nmetadata: { name: p }\n",
  "torn.yaml": "kind: Secret\npassword: 'hunter2-hunter2\n",
  "empty.yaml": "",
};
let folder: string;
const at = (path: string): string => path.replace(/[a-z]+\.(?:yaml|json)$/, (name) => join(folder, name));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "values-"));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
});
afterAll(() => rm(folder, { recursive: true }));

// Source: docs/how-to/configuration-values.md; the merge order of spec.config.valuesFrom in operator-controller.
test("mergeConfigFiles merges sources in order and then the inline configuration", async () => {
  const files = ["map.yaml", "prod.yaml=secrets.yaml", "list.json"].map(at);
  const { config, hidden } = await mergeConfigFiles(
    files,
    "ns",
    { a: { b: null } },
    { stdin: () => Promise.reject(new Error("not asked")) },
  );
  expect(config).toEqual({ a: { c: "hunter2-hunter2" }, d: ["hunter3-hunter3"], e: 1 });
  expect(hidden.hide("c is hunter2-hunter2, d hunter3-hunter3")).toBe(
    "c is (from spec.config.valuesFrom), d (from spec.config.valuesFrom)",
  );
});

test("mergeConfigFiles reads standard input when the path is -", async () => {
  const { config } = await mergeConfigFiles(["-"], "ns", undefined, { stdin: () => Promise.resolve(FILES["map.yaml"]) });
  expect(config).toEqual({ a: { b: 1, c: 2 } });
});

test.for<[file: string, text: RegExp]>([
  [
    "other=map.yaml",
    /^olmv1: invalid ClusterExtension configuration: spec\.config\.valuesFrom\[0\]: key "other" of ConfigMap hello-operator-system\/map contains a list/,
  ],
  ["secrets.yaml", /spec\.config\.valuesFrom\[0\]: Secret .*one.*spec\.config\.valuesFrom\[1\]: Secret .*two/s],
  ["wrong.yaml", /^olmv1: .*unknown field "password"/s],
  ["pod.yaml", /^olmv1: --values-from .*pod\.yaml: must contain only ConfigMaps and Secrets with names\n$/],
  ["torn.yaml", /^olmv1: --values-from .*torn\.yaml: not valid YAML or JSON\n$/],
  ["empty.yaml", /: contains no ConfigMap or Secret\n$/],
  ["nowhere.yaml", /^olmv1: --values-from .*nowhere\.yaml: ENOENT/],
])("bundle render rejects %s without printing its values", async ([file, text]) => {
  const { code, out, err } = await runCli(["bundle", "render", SAMPLE, "--values-from", at(file)]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(text);
  expect(err).not.toContain("hunter2");
});
