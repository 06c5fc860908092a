import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli, shownRun } from "../../../test/support/runCli.ts";

const ROOT = join(import.meta.dirname, "../../..");
const GOLDENS = join(ROOT, "test/goldens/cli");
/** Folders for the placeholders in commands. */
const PLACES = {
  HARBOUR: join(GOLDENS, "fixtures/catalogs/harbour"),
  SAMPLE: join(ROOT, "pkg/devcluster/sample"),
  POLICIES: join(GOLDENS, "fixtures/policies.yaml"),
};

/** Runs a command that reads no cluster, and compares its output with golden file `name`. */
async function compare(name: string, command: string, width: number): Promise<void> {
  const words = command.split(" ").map((word) => word.replace(/HARBOUR|SAMPLE|POLICIES/, (place) => PLACES[place as keyof typeof PLACES]));
  const { code, out, err } = await runCli(words, { width });
  const replacePaths = (text: string): string => text.replaceAll(PLACES.HARBOUR, "HARBOUR").replaceAll(PLACES.SAMPLE, "SAMPLE");
  await expect(shownRun(command, { code, out: replacePaths(out), err: replacePaths(err) })).toMatchFileSnapshot(
    join(GOLDENS, `${name}.txt`),
  );
}

// Catalog views are tested in catalogViews.test.ts. Texts about objects of a cluster are tested next to their formatters.
// test/integration and test/e2e compare the short output of `rollback`, `get` and `catalog add` verbatim.
describe.for([80, 200])("olmv1 at width %i", (width) => {
  test.for([
    ["help", "--help"],
    ["help-catalog", "catalog --help"],
    ["help-install", "install --help"],
    ["resolve", "resolve lighthouse-operator --explain --catalog-dir HARBOUR"],
    ["resolve-none", "resolve lighthouse-operator --version >=9 --catalog-dir HARBOUR"],
    ["why-not", "why-not lighthouse-operator 1.1.0 --installed 1.0.0 --catalog-dir HARBOUR"],
    ["wrong-option", "tree x --nonsense"],
  ])("output equals golden file %s", async ([name = "", command = ""]) => {
    await compare(`${name}-${width}`, command, width);
  });
});

test.for([
  ["resolve-yaml", "resolve lighthouse-operator --catalog-dir HARBOUR -o yaml"],
  ["resolve-jsonpath", "resolve lighthouse-operator --catalog-dir HARBOUR -o jsonpath={.outcome.winner.bundle}"],
  ["rbac", "rbac SAMPLE/bundles/1.0.0 --namespace hello"],
  ["rbac-diff", "rbac SAMPLE/bundles/1.2.0 --namespace hello --diff SAMPLE/bundles/1.0.0"],
  ["bundle-validate", "bundle validate SAMPLE/bundles/1.0.0 SAMPLE/bundles/1.2.0 --severity warning"],
  ["bundle-validate-sarif", "bundle validate SAMPLE/bundles/1.0.0 --severity warning -o sarif"],
  ["bundle-render", "bundle render SAMPLE/bundles/1.0.0 --namespace hello"],
  ["bundle-config-schema", "bundle config-schema SAMPLE/bundles/1.0.0"],
  ["catalog-diff", "catalog diff HARBOUR SAMPLE/catalog"],
  ["policy-test", "permissions policy test manual -f POLICIES --bundle SAMPLE/bundles/1.2.0"],
  ["policy-test-uncovered", "permissions policy test uncovered -f POLICIES --bundle SAMPLE/bundles/1.2.0 -n hello -o yaml"],
  ["completion-bash", "completion bash"],
  ["completion-zsh", "completion zsh"],
  ["completion-fish", "completion fish"],
  ["error-json", "resolve lighthouse-operator --catalog-dir /nowhere -o json"],
])("olmv1 prints golden file %s", async ([name = "", command = ""]) => {
  await compare(name, command, 120);
});
