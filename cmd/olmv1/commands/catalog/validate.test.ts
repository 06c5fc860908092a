import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../../test/support/runCli.ts";
import { TempFolder } from "../../../../test/support/tempFolder.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const golden = (name: string): string => join(ROOT, "test/goldens/cli", name);
const CATALOG = {
  "foo/catalog.yaml": `schema: olm.package
name: foo
defaultChannel: stable
---
schema: olm.channel
package: foo
name: stable
entries:
  - name: foo.v1.0.0
  - name: foo.v1.1.0
    replace: foo.v1.0.0
---
schema: olm.bundle
package: foo
name: foo.v1.0.0
image: quay.io/example/foo:v1.0.0
properties: [{ type: olm.package, value: { packageName: foo, version: 1.0.0 } }]
---
schema: olm.bundle
package: foo
name: foo.v1.1.0
image: quay.io/example/foo:v1.0.0
properties: [{ type: olm.package, value: { packageName: foo, version: 1.1.0 } }]
`,
};

test("catalog validate prints text, JSON and SARIF", async () => {
  using folder = new TempFolder();
  const catalog = folder.write("catalog", CATALOG);
  let text = "";
  const run = async (...args: string[]): Promise<number> => {
    const { code, out, err } = await runCli(["catalog", "validate", ...args]);
    text += `$ olmv1 catalog validate ${args.join(" ")}\n${out}${err}exit ${code}\n\n`.replaceAll(catalog, "./catalog");
    return code;
  };
  expect(await run(catalog)).toBe(1);
  expect(await run(catalog, "--severity", "warning", "-o", "json")).toBe(1);
  expect(await run(catalog, "--severity", "warning", "--ignore", "duplicate-image", "-o", "sarif")).toBe(1);
  expect(await run(catalog, "--severity", "error", "--fail-on", "info", "-o", "jsonpath={.errors}")).toBe(1);
  expect(await run(catalog, "--ignore", "channel-heads")).toBe(2);
  expect(await run(catalog, "--ignore", "nonsense")).toBe(2);
  await expect(text.replaceAll(/"semanticVersion": ".*"/g, '"semanticVersion": "VERSION"')).toMatchFileSnapshot(
    golden("catalog-validate.txt"),
  );
});

test("bundle validate prints SARIF", async () => {
  using folder = new TempFolder();
  const bundle = folder.write("bundle", { "manifests/csv.yaml": "kind: [" });
  const { code, out } = await runCli(["bundle", "validate", bundle, "-o", "sarif", "--severity", "error"]);
  const log = JSON.parse(out) as { version: string; runs: { results: { ruleId: string; level: string; locations: object[] }[] }[] };
  expect([code, log.version]).toEqual([1, "2.1.0"]);
  expect(log.runs[0]?.results.every(({ level }) => level === "error")).toBe(true);
  expect(JSON.stringify(log.runs[0]?.results)).toContain('"artifactLocation":{"uri":"manifests/csv.yaml"}');
});
