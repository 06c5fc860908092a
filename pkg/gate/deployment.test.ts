import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { KubeObject } from "../api/k8s.ts";
import { controllerName, DEPLOYMENTS, deploymentConditions } from "./deployment.ts";
import { timeText } from "./operatorCondition.ts";

type Row = [status: string, reason: string, message: string];

interface DeploymentCase extends CaseHead {
  deployment?: unknown;
  missing?: boolean;
  before?: number;
  available: Row;
  progressing: Row;
  degraded: Row;
  controllers?: [component: string, kind: string, name: string, controller: string][];
}

const cases = loadCases<DeploymentCase>("gate");
const now = new Date("2026-01-02T03:04:05.678Z");
const controller = "CatalogdDeploymentCatalogdControllerManager";

test.for(cases.filter(({ available }) => available))("$name", ({ deployment, before, available, progressing, degraded }) => {
  const since = timeText(new Date(now.getTime() - (before ?? 0) * 60_000 + 1_000));
  const kept = { type: `${controller}Progressing`, status: "True" as const, reason: "Deploying", message: "", lastTransitionTime: since };
  const found = deploymentConditions(
    { component: "Catalogd", name: "catalogd-controller-manager", deployment },
    before === undefined ? [] : [kept],
    now,
  );
  expect(found.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
    [`${controller}Available`, ...available],
    [`${controller}Progressing`, ...progressing],
    [`${controller}Degraded`, ...degraded],
    [`${controller}Upgradeable`, "True", "", ""],
  ]);
});

test.for(cases.flatMap(({ controllers = [] }) => controllers))("the controller of %s %s %s is %s", ([component, kind, name, expected]) => {
  expect(controllerName(component, kind, name)).toBe(expected);
});

test("the Deployments are those of the manifests", () => {
  const names = ["catalogd", "operator-controller"].flatMap((file) => {
    const text = readFileSync(join(import.meta.dirname, `../../config/manager/${file}.yaml`), "utf8");
    return (loadAll(text) as KubeObject[]).filter(({ kind }) => kind === "Deployment").map(({ metadata }) => metadata.name);
  });
  expect(DEPLOYMENTS.map(({ name }) => name)).toEqual(names);
});
