import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LoopbackRegistry } from "../../../test/support/loopbackRegistry.ts";
import { folder, insecureRegistry, loopbackRegistry } from "../../../test/support/pulling.ts";
import { runCli } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import type { NamedImage } from "../lint/lintedCatalog.ts";
import { checkImages } from "./lintCatalog.ts";

test("checkImages checks each image once, and reports the lines of missing images", async () => {
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
  const { passed, findings, imagesAsked } = JSON.parse(out) as {
    passed: boolean;
    imagesAsked: number;
    findings: { rule: string; message: string; place: { line: number } }[];
  };
  expect([code, passed]).toEqual([1, false]);
  expect(findings.map(({ rule, place }) => [rule, place.line])).toEqual([
    ["image-missing", 17],
    ["image-unchecked", 19],
  ]);
  expect(findings[0]?.message).toMatch(/^the registry does not contain image 127\.0\.0\.1:\d+\/team\/operator:v1: .*manifest unknown/);
  const asked = (repository: string): string[] =>
    registry.requests.filter(({ path }) => path.includes(`/${repository}/manifests/`)).map(({ method }) => method);
  expect([asked("bundle"), asked("operator")]).toEqual([["HEAD"], ["HEAD", "GET"]]);
  expect(imagesAsked).toBe(3);
});

// Distribution specification, "Checking if content exists in the registry": the digest in a HEAD response is optional, and some proxies reject HEAD.
test.for<[name: string, answer: (res: ServerResponse) => void]>([
  ["responds to HEAD with 405", (res) => void res.writeHead(405).end()],
  ["responds to HEAD with 404", (res) => void res.writeHead(404).end()],
  ["responds to HEAD without a digest", (res) => void res.writeHead(200).end()],
  [
    "responds to HEAD with the digest of another manifest",
    (res) => void res.setHeader("docker-content-digest", `sha256:${"0".repeat(64)}`).end(),
  ],
])("checkImages requests an image with GET when the registry %s", async ([, answer]) => {
  const registry = await loopbackRegistry();
  const { digest } = registry.addImage("team/app", "v1", { layers: [] });
  registry.misbehave = (req, res) => {
    if (req.method === "HEAD") answer(res);
    return req.method === "HEAD";
  };
  const conf = join(await folder(), "registries.conf");
  writeFileSync(conf, insecureRegistry(registry.host));
  const subject = { schema: "olm.bundle", package: "foo", name: "foo.v1", place: { file: "foo.yaml" } };
  const named = (reference: string): NamedImage => ({ image: `${registry.host}/team/app@${reference}`, subject, path: ["image"] });
  const at = { env: {}, signal: new AbortController().signal };
  const wrong = `sha256:${"1".repeat(64)}`;
  const found = await checkImages([named(digest), named(wrong)], { registriesConf: conf }, at, () => undefined);
  expect(found.map(({ rule, message }) => [rule, message.includes(wrong)])).toEqual([["image-missing", true]]);
});
