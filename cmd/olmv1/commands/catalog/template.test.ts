import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Authoring } from "../../../../test/support/authoring.ts";
import { runCli, shownRun } from "../../../../test/support/runCli.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const SEMVER = `schema: olm.semver
generateMajorChannels: true
candidate: {bundles: [{image: quay.io/example/gadget-bundle:v1.1.0}]}
stable:
  bundles:
  - image: quay.io/example/gadget-bundle:v1.0.0
  - image: quay.io/example/gadget-bundle:v1.0.1
  - image: quay.io/example/gadget-bundle:v1.1.0
`;
const BASIC = `schema: olm.template.basic
entries:
- schema: olm.package
  name: gadget
  defaultChannel: stable
- schema: olm.channel
  package: gadget
  name: stable
  entries: [{name: gadget.v1.0.0}]
- schema: olm.bundle
  image: quay.io/example/gadget-bundle:v1.0.0
`;

const SCOPED =
  'rendering template: render reference "test/goldens/bundles/scoped": cannot render bundle directory "test/goldens/bundles/scoped": not allowed';

let author: Authoring;
beforeEach(async () => {
  author = await Authoring.start();
});

const template = (stdin: string, ...args: string[]) =>
  runCli(["catalog", "template", ...args, ...(args[0] === "convert" ? [] : author.options)], { stdin });

describe("olmv1 catalog template", () => {
  test("catalog template derives channels from versions", async () => {
    for (const version of ["1.0.0", "1.0.1", "1.1.0"]) await author.pushBundle("gadget", version);
    const args = ["semver", "-", "-o", "yaml", "--migrate"];
    await expect(shownRun(`catalog template ${args.join(" ")}`, await template(SEMVER, ...args))).toMatchFileSnapshot(
      join(GOLDENS, "catalog-template-semver.txt"),
    );
    const drawn = await template(SEMVER, "-o", "mermaid");
    await expect(shownRun("catalog template -o mermaid", drawn)).toMatchFileSnapshot(join(GOLDENS, "catalog-template-mermaid.txt"));
  });

  test("catalog template renders a basic template, and converts the catalog back to the template", async () => {
    await author.pushBundle("gadget", "1.0.0");
    const file = await author.write("template.yaml", BASIC);
    const { code, out } = await template("", file);
    expect(code).toBe(0);
    const converted = await template(out, "convert", "basic", "-o", "yaml");
    await expect(shownRun("catalog template convert basic -o yaml", converted)).toMatchFileSnapshot(
      join(GOLDENS, "catalog-template-convert.txt"),
    );
    expect((await template(converted.out, "basic")).out).toBe(out);
  });

  test("catalog template replaces a bundle with its substitute", async () => {
    for (const version of ["1.0.0", "1.0.1"]) await author.pushBundle("gadget", version);
    const catalog = await template(BASIC, "basic", "-o", "yaml", "--migrate");
    const converted = await template(catalog.out, "convert", "substitutes");
    expect(converted.code).toBe(0);
    const text = converted.out.replace(
      '"substitutions": []',
      '"substitutions": [{"name": "quay.io/example/gadget-bundle:v1.0.1", "base": "gadget.v1.0.0"}]',
    );
    const { code, out } = await template(text, "-o", "yaml", "--migrate");
    expect(code).toBe(0);
    expect(out).toContain("entries:\n- name: gadget.v1.0.0\n- name: gadget.v1.0.1\n  skips:\n  - gadget.v1.0.0\n");
    expect(await template(text.replace(":v1.0.1", ":v9"))).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'rendering template: render: error processing substitution "gadget.v1.0.0" -> "quay.io/example/gadget-bundle:v9": failed to render bundle image reference',
      ) as string,
    });
  });

  test.for<[string, string, string[], string]>([
    ["an unknown template type", "", ["other", "-"], 'invalid template type "other", must be one of: [basic semver substitutes]'],
    ["a template without a schema", "a: b\n", [], "auto-detecting template type: template input missing required 'schema' field"],
    ["an unknown schema", "schema: olm.other\n", [], "auto-detecting template type: unknown template schema: olm.other"],
    [
      "a schema that differs from the given type",
      "schema: olm.semver\n",
      ["basic"],
      'rendering template: template has unknown schema ("olm.semver"), should be "olm.template.basic"',
    ],
    [
      "a template without bundles",
      "schema: olm.semver\n",
      ["semver"],
      "rendering template: render: no bundles specified or no bundles could be rendered",
    ],
    ["an unknown output format", "", ["semver", "-o", "dot"], "option '-o, --output <format>' argument 'dot' is invalid"],
    ["a folder instead of an image", "schema: olm.semver\nstable: {bundles: [{image: test/goldens/bundles/scoped}]}\n", [], SCOPED],
    ["a conversion to another type", "", ["convert", "semver"], 'unsupported template type "semver": use basic or substitutes'],
  ])("catalog template rejects %s", async ([, stdin, args, error]) => {
    const { code, out, err } = await template(stdin, ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err.startsWith(`olmv1: ${error}`), err).toBe(true);
  });
});
