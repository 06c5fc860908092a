import { globSync } from "node:fs";
import { join } from "node:path";
import { type CelInput, celEnv, parse, plan } from "@bufbuild/cel";
import { expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { ArgoSandbox } from "./argoSandbox.ts";
import { REPOSITORY, readObjects } from "./gitopsWorld.ts";
import { computeKstatus, type Kstatus } from "./kstatus.ts";

const ROOT = join(import.meta.dirname, "../..");
const RECORDED = globSync("config/argocd/resource_customizations/*/ClusterExtension/testdata/*.yaml", { cwd: ROOT });

/** Health check expressions of a Kustomization of Flux. */
interface HealthCheckExpressions {
  kind: string;
  failed: string;
  current: string;
}

/** Returns the only object in a file. */
function readObject(path: string): KubeObject {
  const [object] = readObjects(path);
  if (!object) throw new Error(`${path} is empty`);
  return object;
}

/** Evaluates expressions as Flux does. @see https://github.com/fluxcd/pkg/blob/62d235c4/runtime/cel/status_evaluator.go Evaluate */
function evaluateFlux({ failed, current }: HealthCheckExpressions, object: KubeObject): Kstatus {
  const { observedGeneration } = object["status"] as { observedGeneration?: number };
  if (observedGeneration !== undefined && observedGeneration !== object.metadata.generation) return "InProgress";
  const holds = (expression: string): boolean => plan(celEnv(), parse(expression))(object as unknown as Record<string, CelInput>) === true;
  if (holds(failed)) return "Failed";
  return holds(current) ? "Current" : "InProgress";
}

test.for(RECORDED)("Flux accepts a suspended extension, and otherwise follows kstatus: %s", (path) => {
  const { healthCheckExprs } = readObject(`${REPOSITORY}/flux/extensions.yaml`)["spec"] as { healthCheckExprs: HealthCheckExpressions[] };
  const [expressions] = healthCheckExprs;
  if (!expressions) throw new Error("no expressions");
  const object = readObject(path);
  const kstatus = computeKstatus(object).status;
  const isSuspended = path.endsWith("/suspended.yaml");
  expect(evaluateFlux(expressions, object)).toBe(isSuspended ? "Current" : kstatus === "Terminating" ? "InProgress" : kstatus);
});

test.for([
  [{ health: { status: "Healthy" } }, { status: "Healthy", message: "" }],
  [{ health: { status: "Degraded", message: "no" } }, { status: "Degraded", message: "no" }],
  [{}, { status: "Progressing", message: "" }],
  [undefined, { status: "Progressing", message: "" }],
])("an Application of the app of apps with status %j has health %j", async ([status, want]) => {
  const { data } = readObject(`${REPOSITORY}/argocd/argocd-cm.yaml`);
  const script = (data as Record<string, string>)["resource.customizations.health.argoproj.io_Application"] ?? "";
  const object = { apiVersion: "argoproj.io/v1alpha1", kind: "Application", metadata: { name: "olm" }, ...(status ? { status } : {}) };
  expect(await new ArgoSandbox().computeHealth(object, script)).toEqual(want);
});

test("the policy generator only names files of its folder, and its extensions are those of the sample repository", () => {
  const folder = "config/samples/policies";
  const { policies } = readObject(`${folder}/policy-generator.yaml`) as unknown as { policies: { manifests: { path: string }[] }[] };
  const files = policies.flatMap(({ manifests }) => manifests.map(({ path }) => path));
  expect(files.every((path) => globSync(`${folder}/${path}`, { cwd: ROOT }).length === 1)).toBe(true);
  const parts = readObjects(`${folder}/extensions-ready.yaml`);
  const extensions = globSync(`${REPOSITORY}/extensions/*.yaml`, { cwd: ROOT }).flatMap(readObjects);
  const names = (objects: readonly KubeObject[]): string[] =>
    objects.filter(({ kind }) => kind === "ClusterExtension").map(({ metadata }) => metadata.name);
  expect(names(parts).sort()).toEqual(names(extensions).sort());
});
