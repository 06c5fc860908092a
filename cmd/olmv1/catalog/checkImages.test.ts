import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TempFolder } from "../../../test/support/contentFixture.ts";
import { LoopbackRegistry } from "../../../test/support/loopbackRegistry.ts";
import { runCli } from "../../../test/support/runCli.ts";

test("each image is asked for once, and what is not there is told with its line", async () => {
  const registry = await LoopbackRegistry.start();
  onTestFinished(() => registry.stop());
  using folder = new TempFolder();
  registry.addImage("team/bundle", "v1", { layers: [] });
  const { host } = registry;
  const conf = join(folder.write("conf", { x: "" }), "registries.conf");
  writeFileSync(conf, `[[registry]]\nlocation = "${host}"\ninsecure = true\n`);
  const related = ["bundle:v1", "operator:v1", "operator:v1"].map((image) => `- image: ${host}/team/${image}\n`).join("");
  const catalog = folder.write("catalog", {
    "foo.yaml": `schema: olm.package
name: foo
defaultChannel: stable
---
schema: olm.channel
package: foo
name: stable
entries: [{ name: foo.v1 }]
---
schema: olm.bundle
package: foo
name: foo.v1
image: ${host}/team/bundle:v1
properties: [{ type: olm.package, value: { packageName: foo, version: 1.0.0 } }]
relatedImages:
${related}- image: 127.0.0.1:1/team/gone:v1
`,
  });
  const args = ["catalog", "validate", catalog, "--check-images", "--registries-conf", conf, "--severity", "warning", "-o", "json"];
  const { code, out } = await runCli(args);
  const { passed, findings } = JSON.parse(out) as {
    passed: boolean;
    findings: { rule: string; message: string; place: { line: number } }[];
  };
  expect([code, passed]).toEqual([1, false]);
  expect(findings.map(({ rule, place }) => [rule, place.line])).toEqual([
    ["image-missing", 17],
    ["image-unchecked", 19],
  ]);
  expect(findings[0]?.message).toMatch(/^image 127\.0\.0\.1:\d+\/team\/operator:v1 is not in its registry: .*manifest unknown/);
  expect(registry.paths(/team\/operator\/manifests/)).toHaveLength(1);
});
