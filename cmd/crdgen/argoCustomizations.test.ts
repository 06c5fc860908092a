import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { KINDS } from "../../pkg/api/customResourceDefinitions.ts";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { ArgoCustomizations } from "../../test/support/argoCustomizations.ts";
import { type ArgoAction, type ArgoHealth, ArgoSandbox } from "../../test/support/argoSandbox.ts";
import { computeKstatus, expectKstatus, isObserved } from "../../test/support/kstatus.ts";

const FOLDER = join(import.meta.dirname, "../../config/argocd/resource_customizations");
const REQUESTED_AT = "olm.operatorframework.io/reconcile-requested-at";

/** health_test.yaml of argoproj/argo-cd. */
interface HealthTests {
  tests: { inputPath: string; healthStatus: ArgoHealth }[];
}

/** action_test.yaml of argoproj/argo-cd. */
interface ActionTests {
  discoveryTests: { inputPath: string; result: ArgoAction[] }[];
  actionTests: { action: string; inputPath: string; expectedOutputPath: string }[];
}

const read = (...path: string[]): unknown => parseYaml(readFileSync(join(FOLDER, ...path), "utf8"));
const readObject = (...path: string[]): KubeObject => read(...path) as KubeObject;
const argo = new ArgoCustomizations();

/** Returns the content of every test file of this name, with its folder. */
function readTests(file: string): { folder: string; tests: unknown }[] {
  return globSync(`**/${file}`, { cwd: FOLDER }).map((path) => ({ folder: dirname(path), tests: read(path) }));
}

/** Adds the folder and a title to an entry of a test file. */
const place = <E extends { inputPath: string }>(folder: string, entry: E) => ({ ...entry, folder, title: join(folder, entry.inputPath) });

describe("health", () => {
  const cases = readTests("health_test.yaml").flatMap(({ folder, tests }) =>
    (tests as HealthTests).tests.map((entry) => place(folder, entry)),
  );

  test.for(cases)("Argo CD computes the health of $title", async ({ folder, inputPath, healthStatus }) => {
    expect(await argo.computeHealth(readObject(folder, inputPath))).toEqual(healthStatus);
  });

  // A tool that waits with kstatus, such as Flux, and Argo CD must not contradict each other.
  test.for(cases)("kstatus and Argo CD agree on $title", ({ folder, inputPath, healthStatus: { status } }) => {
    const object = readObject(folder, inputPath);
    if (isObserved(object)) expectKstatus(object);
    const kstatus = computeKstatus(object).status;
    const isDisabled = (object["spec"] as JsonObject | undefined)?.["availabilityMode"] === "Unavailable";
    expect(status === "Healthy" || (isDisabled && status === "Suspended")).toBe(kstatus === "Current");
    if (kstatus === "Failed") expect(status).toBe("Degraded");
    if (kstatus === "Terminating") expect(status).toBe("Progressing");
  });

  test("every recorded status has a health test, and every kind with a status has customizations", () => {
    const recorded = globSync("*/*/testdata/*.yaml", { cwd: FOLDER });
    expect(cases.map(({ folder, inputPath }) => join(folder, inputPath)).sort()).toEqual(recorded.sort());
    const customized = globSync("*/*/health.lua", { cwd: FOLDER }).map((path) => path.split("/")[1] ?? "");
    expect(customized.sort()).toEqual(KINDS.flatMap(({ kind, hasStatus }) => (hasStatus === false ? [] : [kind])).sort());
  });
});

describe("actions", () => {
  const files = readTests("action_test.yaml").map(({ folder, tests }) => ({ folder, ...(tests as ActionTests) }));
  const discoveries = files.flatMap(({ folder, discoveryTests }) => discoveryTests.map((entry) => place(folder, entry)));
  const actions = files.flatMap(({ folder, actionTests }) => actionTests.map((entry) => place(folder, entry)));

  test.for(discoveries)("Argo CD offers the actions of $title", async ({ folder, inputPath, result }) => {
    expect(await argo.listActions(readObject(folder, inputPath))).toEqual(result);
  });

  test.for(actions)("action $action changes $title", async ({ action, folder, inputPath, expectedOutputPath }) => {
    const changed = await argo.runAction(readObject(folder, inputPath), action);
    const annotations = changed.metadata.annotations ?? {};
    if (action === "reconcile") {
      expect(annotations[REQUESTED_AT]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      annotations[REQUESTED_AT] = "any time";
    }
    expect(changed).toEqual(readObject(folder, expectedOutputPath));
  });
});

// Scripts in argocd-cm run without the libraries that built-in scripts have.
test.for([
  ["string.upper('x')", "nil value"],
  ["os.date()", "nil value"],
  ["io.read()", "nil value"],
  ["table.unpack({})", "nil value"],
  ["require('io')", "not found"],
  ["7 // 2", "Lua 5.1"],
])("the sandbox of Argo CD does not run %s", async ([expression, reason]) => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
  await expect(new ArgoSandbox().computeHealth(object, `return { status = "Healthy", message = ${expression} }`)).rejects.toThrow(reason);
});
