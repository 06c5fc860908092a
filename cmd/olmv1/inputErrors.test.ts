import { join } from "node:path";
import { expect, test } from "vitest";
import { olmv1 } from "../../test/support/runCli.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";

const BUNDLE = join(import.meta.dirname, "../../test/goldens/bundles/scoped");
const CATALOG = join(import.meta.dirname, "../../test/goldens/cli/fixtures/mirrored");

const LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'";

test.for<[what: string, args: string[], message: string]>([
  ["a folder as template", ["catalog", "template", "DIR"], '"DIR" is a folder, not a file'],
  ["a folder as references file", ["catalog", "compose", "-f", "DIR"], '"DIR" is a folder, not a file'],
  ["a folder as configuration", ["bundle", "render", BUNDLE, "--config", "DIR"], 'DIR: "DIR" is a folder, not a file'],
  [
    "a file as output folder",
    ["catalog", "extract", CATALOG, "DIR/empty.yaml", "--packages", "foo"],
    'output dir "DIR/empty.yaml" is a file',
  ],
  ["an invalid namespace of a rendered bundle", ["bundle", "render", BUNDLE, "--namespace", "Bad_NS!"], LABEL],
  ["an invalid namespace of roles", ["rbac", BUNDLE, "--namespace", "Bad_NS!"], LABEL],
  ["an invalid namespace of an extension", ["install", "argocd", "--namespace", "Bad_NS!"], LABEL],
])("olmv1 reports %s", async ([, args, message]) => {
  using folder = new TempFolder();
  const dir = folder.write("dir", { "empty.yaml": "" });
  const { code, out, err } = await olmv1(...args.map((arg) => arg.replace("DIR", dir)));
  expect([code, out, err.replaceAll(dir, "DIR")]).toEqual([2, "", expect.stringContaining(message)]);
});

test("olmv1 catalog validate reports a folder without catalog files", async () => {
  using folder = new TempFolder();
  const dir = folder.write("empty", {});
  expect(await olmv1("catalog", "validate", dir)).toMatchObject({ code: 0, err: `olmv1: "${dir}" contains no catalog files\n` });
  expect((await olmv1("catalog", "validate", CATALOG)).err).toBe("");
});
